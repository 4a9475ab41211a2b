//! The type that methods are of.

/// What a type is generic over.
#[derive(Clone, Copy)]
pub struct Host {
    /// The parameters, as an `impl` declares them.
    declared: &'static str,
    /// The same where they are used, and as they are in a call.
    used: &'static str,
    given: &'static str,
    /// The type of one more field, and its value.
    field: &'static str,
    value: &'static str,
}

impl Host {
    pub const PLAIN: Self = Self {
        declared: "",
        used: "",
        given: "",
        field: "()",
        value: "()",
    };

    pub const ALL: [Self; 4] = [
        Self::PLAIN,
        Self::PLAIN,
        Self {
            declared: "<T: Touch + 'static>",
            used: "<T>",
            given: "<D>",
            field: "T",
            value: "D::new(\"phost2\")",
        },
        Self {
            declared: "<const SIZE: usize>",
            used: "<SIZE>",
            given: "<3>",
            field: "[u8; SIZE]",
            value: "[1, 2, 3]",
        },
    ];

    /// Its definition, with what keys are made of.
    pub fn definition(&self) -> Vec<String> {
        let Self { declared, field, .. } = self;
        let text = format!(
            "#[allow(dead_code)]\nstruct Host{declared} {{\nname: D,\nn: u32,\nmore: {field},\n}}\n\
             #[allow(dead_code)]\n{} {{\nfn key(&self) -> u32 {{\nself.n\n}}\n}}",
            self.header(None)
        );
        text.lines().map(str::to_owned).collect()
    }

    /// Returns the beginning of an `impl`.
    pub fn header(&self, of: Option<&str>) -> String {
        let of = of.map(|of| format!("{of} for ")).unwrap_or_default();
        format!("impl{} {of}Host{}", self.declared, self.used)
    }

    /// Returns the type in a call.
    pub fn called(&self) -> String {
        format!("Host::{}", self.given).trim_end_matches("::").to_owned()
    }

    pub fn value(&self) -> String {
        format!("Host {{ name: D::new(\"phost\"), n: 3, more: {} }}", self.value)
    }
}
