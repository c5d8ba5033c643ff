-- model_waits: one row for each try that made calls at the model gateway: how many, and how long it waited for them.
-- needs: model_calls
--
-- first_seq                  of the try
-- turn_calls, side_calls, refused_calls   by kind
-- retry_calls                turns and side calls that repeat a failed one
-- failed_calls               turns and side calls that brought no whole answer; what is still open is not among them
-- model_ns                   time during which at least one turn or side call was open: calls side by side count once
-- first_token_ns             median over whole answers of the time to the first token
WITH spans AS (
    SELECT
        first_seq,
        offset_ns AS start_ns,
        offset_ns + duration_ns AS end_ns,
        max(offset_ns + duration_ns) OVER (
            PARTITION BY first_seq ORDER BY offset_ns, seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS before_ns
    FROM model_calls
    WHERE kind IN ('turn', 'side') AND duration_ns IS NOT NULL AND offset_ns IS NOT NULL
),
waits AS (
    SELECT
        first_seq,
        CAST(sum(greatest(0, end_ns - greatest(start_ns, coalesce(before_ns, start_ns)))) AS BIGINT) AS model_ns
    FROM spans
    GROUP BY first_seq
)
SELECT
    c.first_seq,
    count(*) FILTER (c.kind = 'turn') AS turn_calls,
    count(*) FILTER (c.kind = 'side') AS side_calls,
    count(*) FILTER (c.kind = 'refused') AS refused_calls,
    count(*) FILTER (c.failed) AS failed_calls,
    count(*) FILTER (c.retry_of IS NOT NULL AND c.kind <> 'refused') AS retry_calls,
    any_value(w.model_ns) AS model_ns,
    CAST(quantile_cont(c.first_token_ns, 0.5) FILTER (c.ended = 'complete' AND c.kind = 'turn') AS BIGINT)
        AS first_token_ns
FROM model_calls AS c
LEFT JOIN waits AS w ON w.first_seq = c.first_seq
WHERE c.kind <> 'other' AND c.first_seq IS NOT NULL
GROUP BY c.first_seq
ORDER BY c.first_seq
