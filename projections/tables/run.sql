-- run: one row: the plan's conditions and how the run stands.
-- reads: run.planned, run.started, run.resumed, run.cancelled, run.finished
-- needs: sessions
--
-- run, name                 name is null where none was given
-- status                    finished, cancelled, running (a writer holds the stream) or incomplete (nobody
--                           goes on with it)
-- cancel_reason             of the last cancellation, if the run still stands cancelled
-- dataset, dataset_digest, dataset_source, tasks
-- attempts, jobs, retries, seed, sandbox, trials    a number past all bounds is null: the plans of hemra have none
-- limits, hemra, host       JSON objects as planned
-- prices                    JSON: name, date and digest of the price table; null where none was used
-- cassette                  JSON: the recorded run that answered in the models' place, and what a miss became
-- record_cassette           bodies of model calls were kept
-- planned_at                UTC wall time of the plan (for people; nothing is computed from it)
-- duration_ns               time that engines worked on it: sum over sessions, from the monotonic clock
-- sessions                  engines that worked on it: 1, and one more for each resume
WITH planned AS (
    SELECT * FROM events WHERE type = 'run.planned' ORDER BY seq LIMIT 1
),
latest AS (
    SELECT type, data
    FROM events
    WHERE type IN ('run.started', 'run.resumed', 'run.cancelled', 'run.finished')
    ORDER BY seq DESC
    LIMIT 1
)
SELECT
    p.data ->> '$.run' AS run,
    p.data ->> '$.name' AS name,
    CASE latest.type
        WHEN 'run.finished' THEN 'finished'
        WHEN 'run.cancelled' THEN 'cancelled'
        ELSE CASE WHEN snapshot.live THEN 'running' ELSE 'incomplete' END
    END AS status,
    CASE WHEN latest.type = 'run.cancelled' THEN latest.data ->> '$.reason' END AS cancel_reason,
    p.data ->> '$.dataset.name' AS dataset,
    p.data ->> '$.dataset.digest' AS dataset_digest,
    p.data ->> '$.dataset.source' AS dataset_source,
    CAST(json_array_length(p.data, '$.tasks') AS BIGINT) AS tasks,
    TRY_CAST(p.data ->> '$.attempts' AS BIGINT) AS attempts,
    TRY_CAST(p.data ->> '$.jobs' AS BIGINT) AS jobs,
    TRY_CAST(p.data ->> '$.retries' AS BIGINT) AS retries,
    TRY_CAST(coalesce(p.data ->> '$.seed."$int"', p.data ->> '$.seed') AS HUGEINT) AS seed,
    p.data ->> '$.sandbox' AS sandbox,
    TRY_CAST(p.data ->> '$.trials' AS BIGINT) AS trials,
    p.data -> '$.limits' AS limits,
    p.data -> '$.hemra' AS hemra,
    p.data -> '$.host' AS host,
    CASE WHEN json_type(p.data, '$.prices') = 'OBJECT' THEN json_object(
        'name', p.data ->> '$.prices.name',
        'date', p.data ->> '$.prices.date',
        'digest', p.data ->> '$.prices.digest'
    ) END AS prices,
    CASE WHEN json_type(p.data, '$.cassette') = 'OBJECT' THEN p.data -> '$.cassette' END AS cassette,
    coalesce(TRY_CAST(p.data ->> '$.record_cassette' AS BOOLEAN), false) AS record_cassette,
    p.time AS planned_at,
    (SELECT CAST(sum(duration_ns) AS BIGINT) FROM sessions) AS duration_ns,
    (SELECT count(*) FROM sessions) AS sessions
FROM planned AS p
LEFT JOIN latest ON true
CROSS JOIN snapshot
