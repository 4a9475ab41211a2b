use rate_limit::{Rejection, limit_per_time};

struct Form {
    student_id: String,
}

#[limit_per_time(5, "10m", key = (7, form.student), reset_on_success)]
async fn login(form: Form) -> Result<String, Rejection> {
    Ok(form.student_id)
}

fn main() {
    let _ = login(Form {
        student_id: "20230001".into(),
    });
}
