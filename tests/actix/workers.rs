//! A real server with eight workers shares one store.

use actix_web::{App, HttpServer, web};
use rate_limit::{Limiter, Rejection, limit_per_time};

#[limit_per_time(5, "1m", key = user.as_str(), limiter = **limiter)]
async fn greet(user: web::Path<String>, limiter: web::Data<Limiter>) -> Result<String, Rejection> {
    Ok(format!("hello {user}"))
}

#[actix_web::test]
async fn mem_09_eight_workers_share_one_store() {
    let limiter = web::Data::new(Limiter::embedded());
    let app = move || {
        App::new()
            .app_data(limiter.clone())
            .route("/{user}", web::get().to(greet))
    };
    let server = HttpServer::new(app)
        .workers(8)
        .bind(("127.0.0.1", 0))
        .expect("loopback has a free port");
    let address = server.addrs()[0];
    let running = server.run();
    let handle = running.handle();
    let serving = actix_web::rt::spawn(running);
    let asked = std::thread::spawn(move || {
        // A connection each, so that all workers come to serve.
        let status = |_| {
            let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
            agent
                .get(format!("http://{address}/alice"))
                .call()
                .expect("it answers")
                .status()
                .as_u16()
        };
        (0..32).map(status).filter(|status| *status == 200).count()
    });
    while !asked.is_finished() {
        actix_web::rt::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    assert_eq!(asked.join().expect("no thread panics"), 5);
    handle.stop(false).await;
    serving
        .await
        .expect("the server is not aborted")
        .expect("it stops well");
}
