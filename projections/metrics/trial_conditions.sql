-- trial_conditions: one row for each trial that was started: what its try that counts ran under, in plan order.
-- reads: run.started, run.resumed, note.recorded, sandbox.created
-- needs: plan, trials, enforcement, model_calls, usage
--
-- trial, harness
-- session                    the engine that ran it, from 1; null where the log names none
-- jobs                       of that engine
-- hemra, host                JSON: program and machine of that engine; null where it did not say
-- version                    of the harness, as it said at the beginning of that session; null = not known
-- installed                  digest of the program's files, as in table plan
-- upstream                   base URL of the model's endpoint behind the gateway; null where no call passes it
-- asked, answered            models of the turns, sorted. Where the gateway took every call of the try for one to
--                            another model than the harness's file names, those calls are the conversation.
--                            `answered` also by the harness's own word, where no call passed the gateway
-- sandbox, network, image    kind of the sandbox, network that it gave, id of its image; null = none made, none told
-- not_enforced, best_effort  names of limits and isolations that it did not hold, or held as best it could, sorted
WITH sessions AS (
    SELECT
        row_number() OVER (ORDER BY seq) AS session,
        seq AS session_seq,
        lead(seq) OVER (ORDER BY seq) AS next_seq,
        TRY_CAST(data ->> '$.jobs' AS BIGINT) AS jobs,
        CASE WHEN json_type(data, '$.hemra') = 'OBJECT' THEN data -> '$.hemra' END AS hemra,
        CASE WHEN json_type(data, '$.host') = 'OBJECT' THEN data -> '$.host' END AS host
    FROM events
    WHERE type IN ('run.started', 'run.resumed')
),
remarks AS (
    SELECT seq, data ->> '$.code' AS code, data ->> '$.text' AS text
    FROM events
    WHERE type = 'note.recorded' AND trial IS NULL
        AND data ->> '$.code' IN ('harness_version_changed', 'harness_version_unknown')
),
harnesses AS (
    SELECT DISTINCT harness, harness_version, installed, upstream FROM plan
),
-- The engine says in a sentence of its own when a harness tells another version than the plan has.
said AS (
    SELECT
        s.session,
        h.harness,
        r.code,
        regexp_extract(
            substr(r.text, length('harness ' || h.harness || ' says it is version ') + 1),
            '^(.*); the run was planned with .*$', 1
        ) AS version
    FROM sessions AS s
    JOIN remarks AS r ON r.seq > s.session_seq AND (s.next_seq IS NULL OR r.seq < s.next_seq)
    JOIN harnesses AS h
        ON starts_with(r.text, 'harness ' || h.harness || ' says it is version ')
        OR starts_with(r.text, 'harness ' || h.harness || ': its version is not known')
),
calls AS (
    SELECT
        first_seq, asked_model AS asked, model AS answered, kind, auxiliary,
        count(*) FILTER (kind = 'turn') OVER (PARTITION BY first_seq) AS turns
    FROM model_calls
    WHERE kind IN ('turn', 'side') AND first_seq IS NOT NULL
),
named AS (
    SELECT first_seq, asked, answered
    FROM calls
    WHERE kind = 'turn' OR (turns = 0 AND auxiliary = 'other_model')
    UNION ALL
    SELECT first_seq, NULL, model FROM usage WHERE call IS NULL AND first_seq IS NOT NULL
),
conversations AS (
    SELECT
        first_seq,
        list(DISTINCT asked ORDER BY asked) FILTER (asked IS NOT NULL) AS asked,
        list(DISTINCT answered ORDER BY answered) FILTER (answered IS NOT NULL) AS answered
    FROM named
    GROUP BY first_seq
),
places AS (
    SELECT
        e.trial,
        e.seq,
        e.data ->> '$.kind' AS sandbox,
        e.data ->> '$.network' AS network,
        e.data ->> '$.details.image_id' AS image,
        row_number() OVER (PARTITION BY e.trial ORDER BY e.seq DESC) AS newest
    FROM events AS e
    WHERE e.type = 'sandbox.created'
),
held AS (
    SELECT t.trial, e.name, e.status
    FROM trials AS t
    JOIN enforcement AS e ON e.trial = t.trial AND e.seq > t.first_seq
    UNION ALL
    SELECT t.trial, n.name, 'not enforced'
    FROM trials AS t, unnest(TRY_CAST(t.not_enforced AS VARCHAR[])) AS n (name)
    WHERE NOT EXISTS (
        SELECT 1 FROM enforcement AS e WHERE e.trial = t.trial AND e.name = n.name AND e.seq > t.first_seq
    )
),
holds AS (
    SELECT
        trial,
        list(DISTINCT name ORDER BY name) FILTER (status = 'not enforced') AS not_enforced,
        list(DISTINCT name ORDER BY name) FILTER (status = 'best effort') AS best_effort
    FROM held
    GROUP BY trial
)
SELECT
    t.trial,
    t.harness,
    s.session,
    s.jobs,
    s.hemra,
    s.host,
    CASE
        WHEN v.code = 'harness_version_changed' THEN nullif(v.version, '')
        WHEN v.code IS NULL THEN h.harness_version
    END AS version,
    h.installed,
    h.upstream,
    coalesce(m.asked, []) AS asked,
    coalesce(m.answered, []) AS answered,
    p.sandbox,
    p.network,
    p.image,
    coalesce(o.not_enforced, []) AS not_enforced,
    coalesce(o.best_effort, []) AS best_effort
FROM trials AS t
JOIN harnesses AS h ON h.harness = t.harness
LEFT JOIN sessions AS s ON t.first_seq > s.session_seq AND (s.next_seq IS NULL OR t.first_seq < s.next_seq)
LEFT JOIN said AS v ON v.session = s.session AND v.harness = t.harness
LEFT JOIN conversations AS m ON m.first_seq = t.first_seq
LEFT JOIN places AS p ON p.trial = t.trial AND p.newest = 1 AND p.seq > t.first_seq
LEFT JOIN holds AS o ON o.trial = t.trial
WHERE t.first_seq IS NOT NULL
ORDER BY t.position
