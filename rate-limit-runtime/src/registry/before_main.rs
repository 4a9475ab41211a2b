//! What an expansion writes, so that a function is registered before `main`.

/// Registers the function of a site before `main`: `register!(SITE)`.
#[doc(hidden)]
#[macro_export]
macro_rules! __register {
    ($site:ident) => {
        $crate::__before_main! {
            extern "C" fn __rate_limit_register() {
                $crate::private::Site::register(&$site, $crate::private::module_path!(), $crate::private::line!());
            }
        }
    };
}

/// Where the address of a function lies that is called before `main`, as the linkers of the platforms have it.
macro_rules! before_main {
    ($($when:meta => $section:literal)*) => {$(
        #[cfg($when)]
        #[doc(hidden)]
        #[macro_export]
        macro_rules! __before_main {
            ($constructor:item) => {
                $constructor
                #[used]
                #[unsafe(link_section = $section)]
                static __RATE_LIMIT_REGISTER: extern "C" fn() = __rate_limit_register;
            };
        }
    )*};
}
before_main! {
    windows => ".CRT$XCU"
    target_vendor = "apple" => "__DATA,__mod_init_func,mod_init_funcs"
    not(any(windows, target_vendor = "apple")) => ".init_array"
}
