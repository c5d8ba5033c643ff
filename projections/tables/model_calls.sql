-- model_calls: one row for each call that passed the model gateway, with what came back.
-- reads: model.requested, model.responded
-- needs: starts
--
-- seq, trial, try_no         seq of the request; of the answer where the request is missing from the log
-- first_seq                  of the try
-- answered_seq               null while nothing came back
-- offset_ns                  of the request since the try began, monotonic clock
-- call, retry_of             ids; retry_of is the failed call that this one repeats
-- dialect, method, path, stream
-- kind                       turn, side (no turn of the conversation), other (asks no model: probes, counts of tokens)
--                            or refused (by a budget or the loop guard)
-- auxiliary                  why it is no turn; null for one
-- asked_model, model         the one asked for, and the one that answered
-- messages                   of the conversation that was sent
-- status, ended, finish_reason   as in model.responded; ended is null while the call is open
-- failed                     it was to ask a model and brought no whole answer; null while it is open
-- billed                     a provider may charge for it: it began to answer, or went silent, or the harness left
-- input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, reasoning_tokens   null = not told
-- told_usd, priced_usd       cost by the provider's word and by the price table; null = unknown
-- prices                     the table and its date
-- replayed                   where a cassette's answer is from; null = the model answered
-- first_byte_ns, first_token_ns, last_token_ns, duration_ns   since the request came
-- tokens_per_s               output tokens over the time from the first to the last; null where that is under 10 ms:
--                            an answer that came at once has no speed
-- bytes
WITH calls AS (
    SELECT
        e.seq, e.trial, e.type, e.mono, e.data, s.try_no, s.first_seq, s.mono AS start_mono,
        e.data ->> '$.call' AS call,
        row_number() OVER (
            PARTITION BY e.trial, s.first_seq, e.type, e.data ->> '$.call' ORDER BY e.seq DESC
        ) AS newest
    FROM events AS e
    LEFT JOIN starts AS s
        ON s.trial = e.trial AND e.seq > s.first_seq AND (s.next_seq IS NULL OR e.seq < s.next_seq)
    WHERE e.type IN ('model.requested', 'model.responded') AND e.data ->> '$.call' IS NOT NULL
),
pairs AS (
    SELECT
        coalesce(q.seq, r.seq) AS seq,
        coalesce(q.trial, r.trial) AS trial,
        coalesce(q.try_no, r.try_no) AS try_no,
        coalesce(q.first_seq, r.first_seq) AS first_seq,
        coalesce(q.start_mono, r.start_mono) AS start_mono,
        coalesce(q.call, r.call) AS call,
        q.mono,
        q.data AS q,
        r.seq AS answered_seq,
        r.data AS r,
        r.data ->> '$.ended' AS ended,
        TRY_CAST(r.data ->> '$.status' AS BIGINT) AS status,
        TRY_CAST(r.data ->> '$.usage.output_tokens' AS HUGEINT) AS output_tokens,
        TRY_CAST(r.data ->> '$.first_token_ns' AS BIGINT) AS first_token_ns,
        TRY_CAST(r.data ->> '$.last_token_ns' AS BIGINT) AS last_token_ns,
        CASE
            WHEN r.data ->> '$.ended' = 'refused' THEN 'refused'
            WHEN q.data ->> '$.auxiliary' IN ('probe', 'count_tokens') THEN 'other'
            WHEN q.data ->> '$.auxiliary' IS NOT NULL THEN 'side'
            ELSE 'turn'
        END AS kind
    FROM (SELECT * FROM calls WHERE type = 'model.requested' AND newest = 1) AS q
    FULL OUTER JOIN (SELECT * FROM calls WHERE type = 'model.responded' AND newest = 1) AS r
        ON r.trial IS NOT DISTINCT FROM q.trial
        AND r.first_seq IS NOT DISTINCT FROM q.first_seq
        AND r.call = q.call
)
SELECT
    seq,
    trial,
    try_no,
    first_seq,
    answered_seq,
    CASE WHEN mono < start_mono THEN 0 ELSE mono - start_mono END AS offset_ns,
    call,
    q ->> '$.retry_of' AS retry_of,
    q ->> '$.dialect' AS dialect,
    q ->> '$.method' AS method,
    q ->> '$.path' AS path,
    TRY_CAST(q ->> '$.stream' AS BOOLEAN) AS stream,
    kind,
    q ->> '$.auxiliary' AS auxiliary,
    q ->> '$.model' AS asked_model,
    r ->> '$.model' AS model,
    TRY_CAST(q ->> '$.messages' AS BIGINT) AS messages,
    status,
    ended,
    r ->> '$.finish_reason' AS finish_reason,
    CASE WHEN kind IN ('turn', 'side') AND answered_seq IS NOT NULL THEN ended IS DISTINCT FROM 'complete' END
        AS failed,
    kind IN ('turn', 'side') AND coalesce(status < 400, ended IN ('timeout', 'disconnected'), false) AS billed,
    TRY_CAST(r ->> '$.usage.input_tokens' AS HUGEINT) AS input_tokens,
    TRY_CAST(r ->> '$.usage.cache_read_tokens' AS HUGEINT) AS cache_read_tokens,
    TRY_CAST(r ->> '$.usage.cache_write_tokens' AS HUGEINT) AS cache_write_tokens,
    output_tokens,
    TRY_CAST(r ->> '$.usage.reasoning_tokens' AS HUGEINT) AS reasoning_tokens,
    CASE WHEN TRY_CAST(r ->> '$.usage.cost_usd' AS DOUBLE) BETWEEN 0 AND 1e9
        THEN TRY_CAST(r ->> '$.usage.cost_usd' AS DOUBLE) END AS told_usd,
    CASE WHEN TRY_CAST(r ->> '$.priced_usd' AS DOUBLE) BETWEEN 0 AND 1e9
        THEN TRY_CAST(r ->> '$.priced_usd' AS DOUBLE) END AS priced_usd,
    r ->> '$.prices' AS prices,
    r ->> '$.replayed' AS replayed,
    TRY_CAST(r ->> '$.first_byte_ns' AS BIGINT) AS first_byte_ns,
    first_token_ns,
    last_token_ns,
    TRY_CAST(r ->> '$.duration_ns' AS BIGINT) AS duration_ns,
    CASE WHEN output_tokens > 1 AND last_token_ns - first_token_ns >= 10000000
        THEN output_tokens / ((last_token_ns - first_token_ns) / 1e9) END AS tokens_per_s,
    TRY_CAST(r ->> '$.bytes' AS BIGINT) AS bytes
FROM pairs
ORDER BY seq
