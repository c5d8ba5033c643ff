-- usage: one row for each answer of a model, in the normal form (input includes cached tokens).
-- reads: model.responded
-- needs: starts
--
-- seq, trial, try_no, model
-- input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, reasoning_tokens   null = not told
-- cost_usd                   null = unknown or nonsense (below 0, above 1e9); 0 only where 0 was told
SELECT
    e.seq,
    e.trial,
    s.try_no,
    e.data ->> '$.model' AS model,
    TRY_CAST(e.data ->> '$.usage.input_tokens' AS HUGEINT) AS input_tokens,
    TRY_CAST(e.data ->> '$.usage.cache_read_tokens' AS HUGEINT) AS cache_read_tokens,
    TRY_CAST(e.data ->> '$.usage.cache_write_tokens' AS HUGEINT) AS cache_write_tokens,
    TRY_CAST(e.data ->> '$.usage.output_tokens' AS HUGEINT) AS output_tokens,
    TRY_CAST(e.data ->> '$.usage.reasoning_tokens' AS HUGEINT) AS reasoning_tokens,
    CASE WHEN TRY_CAST(e.data ->> '$.usage.cost_usd' AS DOUBLE) BETWEEN 0 AND 1e9
        THEN TRY_CAST(e.data ->> '$.usage.cost_usd' AS DOUBLE) END AS cost_usd
FROM events AS e
LEFT JOIN starts AS s
    ON s.trial = e.trial AND e.seq > s.first_seq AND (s.next_seq IS NULL OR e.seq < s.next_seq)
WHERE e.type = 'model.responded'
ORDER BY e.seq
