-- usage: one row for each answer of a model, in the normal form (input includes cached tokens).
-- reads: model.responded
-- needs: starts, model_calls
--
-- What passed the gateway counts. What a harness tells of its calls counts only in a try without any such call.
--
-- seq, trial, try_no, first_seq   first_seq of the try
-- model                      the one that answered; null = not told
-- call                       its id at the gateway; null = the harness told of it
-- whole                      the answer came in order; the tokens of others are kept apart
-- input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, reasoning_tokens   null = not told
-- told_usd                   null = unknown or nonsense (below 0, above 1e9); 0 only where 0 was told
-- priced_usd                 by the price table
-- cost_usd                   what was told, else by the table
-- unpriced                   it may have cost something, and nobody knows what
-- replayed                   a cassette answered: nothing was spent
WITH told AS (
    SELECT
        e.seq,
        e.trial,
        s.try_no,
        s.first_seq,
        e.data ->> '$.model' AS model,
        CAST(NULL AS VARCHAR) AS call,
        true AS whole,
        TRY_CAST(e.data ->> '$.usage.input_tokens' AS HUGEINT) AS input_tokens,
        TRY_CAST(e.data ->> '$.usage.cache_read_tokens' AS HUGEINT) AS cache_read_tokens,
        TRY_CAST(e.data ->> '$.usage.cache_write_tokens' AS HUGEINT) AS cache_write_tokens,
        TRY_CAST(e.data ->> '$.usage.output_tokens' AS HUGEINT) AS output_tokens,
        TRY_CAST(e.data ->> '$.usage.reasoning_tokens' AS HUGEINT) AS reasoning_tokens,
        CASE WHEN TRY_CAST(e.data ->> '$.usage.cost_usd' AS DOUBLE) BETWEEN 0 AND 1e9
            THEN TRY_CAST(e.data ->> '$.usage.cost_usd' AS DOUBLE) END AS told_usd,
        CAST(NULL AS DOUBLE) AS priced_usd,
        true AS billed,
        false AS replayed
    FROM events AS e
    LEFT JOIN starts AS s
        ON s.trial = e.trial AND e.seq > s.first_seq AND (s.next_seq IS NULL OR e.seq < s.next_seq)
    WHERE e.type = 'model.responded' AND e.data ->> '$.call' IS NULL
        AND (s.first_seq IS NULL OR s.first_seq NOT IN (
            SELECT first_seq FROM model_calls WHERE kind <> 'other' AND first_seq IS NOT NULL))
),
seen AS (
    SELECT
        answered_seq AS seq, trial, try_no, first_seq, model, call, NOT failed AS whole,
        input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, reasoning_tokens,
        told_usd, priced_usd, billed, replayed IS NOT NULL AS replayed
    FROM model_calls
    WHERE kind IN ('turn', 'side') AND answered_seq IS NOT NULL
)
SELECT
    seq, trial, try_no, first_seq, model, call, whole,
    input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, reasoning_tokens,
    told_usd,
    priced_usd,
    coalesce(told_usd, priced_usd) AS cost_usd,
    billed AND NOT replayed AND told_usd IS NULL AND priced_usd IS NULL AS unpriced,
    replayed
FROM (SELECT * FROM told UNION ALL SELECT * FROM seen)
ORDER BY seq
