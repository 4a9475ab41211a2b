//! What other limiters call the arguments.

/// What a word of another limiter is here.
pub(super) struct Alias {
    /// With a space between them.
    pub(super) words: &'static str,
    /// What stands before the line to write.
    pub(super) says: &'static str,
    /// The line to write, with `{}` for the value.
    pub(super) line: &'static str,
    pub(super) value: Value,
}

/// The value that goes into the line: the user's own where it has this form, and else an example.
#[derive(Clone, Copy)]
pub(super) enum Value {
    Number(&'static str),
    /// A length of time, of which a number alone has this unit.
    Length {
        unit: &'static str,
        example: &'static str,
    },
    Expression(&'static str),
    /// An expression, of which others take a function.
    Function(&'static str),
    Text(&'static str),
    Algorithm,
    /// None: the line is written as it is.
    Fixed,
}

const SECONDS: Value = Value::Length {
    unit: "s",
    example: "\"10m\"",
};
const COUNT: Value = Value::Number("5");

const fn alias(words: &'static str, says: &'static str, line: &'static str, value: Value) -> Alias {
    Alias {
        words,
        says,
        line,
        value,
    }
}

/// By what it is here. The words are those of governor, tower_governor, actix-governor, leaky-bucket and ratelimit; Spring,
/// resilience4j and bucket4j; slowapi, flask-limiter and django-ratelimit; express-rate-limit and the throttler of Nest;
/// rack-attack and Rails.
pub(super) const ALIASES: &[Alias] = &[
    alias(
        "limit limits max maximum max_requests max_calls max_attempts max_hits max_count max_per_window \
         requests calls times hits attempts amount number num_requests request_limit limit_value allowed \
         limit_for_period points to maxretry tries",
        "the count is",
        "count = {}",
        COUNT,
    ),
    alias(
        "rate rates rate_limit quota default_limits throttle bandwidth limit_string",
        "a rate is the count and the window: write",
        "count = {}, window = \"1m\"",
        COUNT,
    ),
    alias(
        "per_second requests_per_second permits_per_second rps qps max_per_second rate_per_second",
        "a rate is the count and the window: write",
        "count = {}, window = \"1s\"",
        COUNT,
    ),
    alias(
        "per_minute requests_per_minute rpm max_per_minute",
        "a rate is the count and the window: write",
        "count = {}, window = \"1m\"",
        COUNT,
    ),
    alias(
        "per_hour requests_per_hour",
        "a rate is the count and the window: write",
        "count = {}, window = \"1h\"",
        COUNT,
    ),
    alias(
        "per_day requests_per_day",
        "a rate is the count and the window: write",
        "count = {}, window = \"1d\"",
        COUNT,
    ),
    alias(
        "per period interval duration ttl every each time timeframe time_window window_size expiry expire \
         expires expires_in expiration findtime seconds secs sec window_seconds window_secs \
         window_size_in_seconds period_seconds limit_refresh_period refresh_period time_unit unit granularity",
        "the window is",
        "window = {}",
        SECONDS,
    ),
    alias(
        "window_ms ms millis milliseconds period_ms interval_ms duration_ms",
        "the window is",
        "window = {}",
        Value::Length {
            unit: "ms",
            example: "\"500ms\"",
        },
    ),
    alias(
        "minutes mins minute",
        "the window is",
        "window = {}",
        Value::Length {
            unit: "m",
            example: "\"10m\"",
        },
    ),
    alias(
        "hours hour",
        "the window is",
        "window = {}",
        Value::Length {
            unit: "h",
            example: "\"1h\"",
        },
    ),
    alias(
        "days day",
        "the window is",
        "window = {}",
        Value::Length {
            unit: "d",
            example: "\"1d\"",
        },
    ),
    alias(
        "by key_by identifier identify_by identity client client_id subject user user_id who whom for_each \
         foreach group_by partition_by bucket_key cache_key keys id ip",
        "the client is",
        "key = {}",
        Value::Expression("form.user_id"),
    ),
    alias(
        "key_func keyfunc key_function key_fn key_generator key_extractor key_resolver key_expression get_key \
         get_tracker generate_key discriminator lookup extractor",
        "the client is an expression over the arguments, as in",
        "key = {}",
        Value::Function("form.user_id"),
    ),
    alias(
        "burst burst_size burst_capacity allow_burst max_burst bucket_size max_tokens initial initial_tokens \
         size",
        "a burst is the capacity of a token bucket: write",
        "algorithm = token_bucket, capacity = {}, refill = \"50s\"",
        Value::Number("3"),
    ),
    alias(
        "replenish replenish_rate replenish_interval replenish_period refill_rate refill_interval \
         refill_period refill_time refill_every fill_rate leak_rate leak_interval emission_interval \
         restore_interval",
        "the time in which a bucket gains a token is its refill: write",
        "algorithm = token_bucket, capacity = 3, refill = {}",
        Value::Length {
            unit: "s",
            example: "\"50s\"",
        },
    ),
    alias(
        "refill_tokens refill_amount tokens_per_interval tokens_per_fill refill_greedy refill_intervally",
        "a bucket gains one token each refill: write",
        "algorithm = token_bucket, capacity = 3, refill = \"50s\"",
        Value::Fixed,
    ),
    alias(
        "weight tokens token permits cost_fn n_tokens num_tokens requested_tokens consume charge deduct \
         hit_weight increment",
        "what a call weighs is",
        "cost = {}",
        Value::Expression("form.items"),
    ),
    alias(
        "fallback fallback_method fallback_fn on_rejected on_reject on_refused on_exceeded on_exceed \
         on_limited on_limit_exceeded on_limit_reached on_breach on_deny on_denied on_rate_limited handler \
         limit_handler error_handler exception_handler throttled_response response error_response otherwise \
         or_else with",
        "what a refused call returns is",
        "on_limit = |rejection| value",
        Value::Fixed,
    ),
    alias(
        "message msg error_message body detail",
        "a refusal has a text of its own; another return value is",
        "on_limit = |rejection| value",
        Value::Fixed,
    ),
    alias(
        "status status_code http_status code error_code",
        "a refusal is answered with 429; another return value is",
        "on_limit = |rejection| value",
        Value::Fixed,
    ),
    alias(
        "raise_on_limit raise throw throws panic error exception",
        "a refused call returns an error of its return type; another return value is",
        "on_limit = |rejection| value",
        Value::Fixed,
    ),
    alias(
        "on_error on_failure error_callback",
        "a refused call returns `on_limit = |rejection| value`; while the store fails, calls go by",
        "on_store_error = closed",
        Value::Fixed,
    ),
    alias(
        "swallow_errors fail_open pass_on_store_error skip_on_error ignore_store_errors on_backend_error \
         on_redis_error",
        "to admit calls while the store fails, write",
        "on_store_error = open",
        Value::Fixed,
    ),
    alias(
        "fail_closed deny_on_error strict",
        "to refuse calls while the store fails, write",
        "on_store_error = closed",
        Value::Fixed,
    ),
    alias(
        "in_memory_fallback in_memory_fallback_enabled insurance_limiter insurance",
        "to decide in memory while the store fails, write",
        "on_store_error = local",
        Value::Fixed,
    ),
    alias(
        "scope prefix key_prefix namespace cache_name zone label bucket bucket_name group route resource",
        "the name of the counters is",
        "name = {}",
        Value::Text("\"login\""),
    ),
    alias(
        "config configuration profile preset instance policy_name plan tier",
        "numbers from configuration are",
        "policy = {}",
        Value::Text("\"read-count\""),
    ),
    alias(
        "strategy algo kind type limiter_type bucket_type",
        "the algorithm is",
        "algorithm = {}",
        Value::Algorithm,
    ),
    alias(
        "methods http_methods method verbs path paths only except urls endpoint endpoints",
        "a limit holds for the function that it stands on and all requests that reach it; some of them are exempt by",
        "skip_if = method == Method::GET",
        Value::Fixed,
    ),
    alias(
        "exempt_when exempt_if skip skip_when skip_fn unless bypass bypass_if ignore ignore_if safelist \
         allow_list allowlist whitelist request_filter should_skip",
        "calls are exempt by",
        "skip_if = {}",
        Value::Expression("user.is_admin"),
    ),
    alias(
        "when only_if condition enabled enable if predicate apply_if",
        "calls are exempt by the opposite,",
        "skip_if = !({})",
        Value::Expression("user.is_guest"),
    ),
    alias(
        "deny deny_when denied_if block_if blocklist blacklist ban_if forbid_if reject_if",
        "calls are turned away by",
        "deny_if = {}",
        Value::Expression("agent.is_bot()"),
    ),
    alias(
        "override_defaults override overrides inherit cascade",
        "the attribute of a function replaces that of its `impl` or trait, and several on one function all hold: leave it out, as in",
        "#[limit_per_time(5, \"10m\", key = form.user_id)]",
        Value::Fixed,
    ),
    alias(
        "deduct_when count_when count_if charge_if on_success",
        "a call is charged before its body runs; the charge is given back unless the closure is true, by",
        "refund_on_error, success = |out| out.is_ok()",
        Value::Fixed,
    ),
    alias(
        "skip_successful_requests skip_successful ignore_success count_failures only_failures failures_only",
        "calls that succeed are not counted by",
        "refund_on_success",
        Value::Fixed,
    ),
    alias(
        "skip_failed_requests skip_failed refund_on_failure refund_on_err refund_on_panic count_successes",
        "calls that fail are not counted by",
        "refund_on_error",
        Value::Fixed,
    ),
    alias(
        "refund refund_on give_back",
        "a charge is given back by `refund_on_success` or",
        "refund_on_error",
        Value::Fixed,
    ),
    alias(
        "reset_on_failure reset_on_error reset_on_err",
        "only a success clears a record, by `reset_on_success`; a failed call is not counted by",
        "refund_on_error",
        Value::Fixed,
    ),
    alias(
        "reset clear reset_on clear_on_success reset_on_ok reset_on_login",
        "a success clears the record by",
        "reset_on_success",
        Value::Fixed,
    ),
    alias(
        "store storage storage_uri storage_url redis redis_url backend cache db database pool memcached state",
        "counters are in the store of the limiter, which `rate_limit::install` sets for the program, or",
        "limiter = app.limiter",
        Value::Fixed,
    ),
    alias(
        "timeout timeout_duration blocking wait max_wait wait_time max_delay delay delay_after delay_ms queue \
         nodelay jitter",
        "a refused call returns at once and its caller may wait for `rejection.retry_after()`: leave it out, as in",
        "#[limit_per_time(5, \"10m\", key = form.user_id)]",
        Value::Fixed,
    ),
    alias(
        "block_for block_duration block_time ban ban_for ban_time bantime lockout lockout_time penalty \
         cooldown jail timeout_for",
        "clients that exceed the limit are refused for longer by",
        "block = {}",
        Value::Length {
            unit: "s",
            example: "\"30m\"",
        },
    ),
    alias(
        "dry_run shadow shadow_mode log_only report_only monitor simulate test_mode",
        "to refuse nothing and report, write",
        "observe",
        Value::Fixed,
    ),
    alias(
        "headers headers_enabled standard_headers legacy_headers include_headers draft",
        "headers are written by the layer `RateHeaders`: leave it out, as in",
        "#[limit_per_time(5, \"10m\", key = form.user_id)]",
        Value::Fixed,
    ),
    alias(
        "exempt no_limit unlimited disabled disable",
        "a function within a limited `impl` or trait is exempt by itself, as",
        "#[limit_per_time(exempt)]",
        Value::Fixed,
    ),
    alias(
        "timestamp now event_time time_of occurred_at",
        "the time of the event is",
        "at = {}",
        Value::Expression("event.time"),
    ),
    alias(
        "transaction tx trx txn connection conn",
        "the SQL transaction that a token is taken in is",
        "within = {}",
        Value::Expression("tx"),
    ),
    alias(
        "guard token_guard outcome decision",
        "what was decided has a name in the body by",
        "permit = permit",
        Value::Fixed,
    ),
];
