-- For a queue: the outbox pattern. The application writes its events into a table in the same transaction
-- as everything else, and they are sent from there:
--
--   CREATE TABLE outbox (id uuid PRIMARY KEY, topic text NOT NULL, key text, event text NOT NULL,
--                        payload jsonb NOT NULL);
--
-- Rows may be deleted as soon as they are committed. Or the application emits messages without a table:
-- SELECT pg_logical_emit_message(true, 'outbox.orders', '{"id": 7}'), whose topic is what follows the dot.

local function from_table(r)
  if r.kind ~= "insert" then
    return nil
  end
  local row = r.row
  return {
    topic = row.topic,
    key = row.key,
    value = row.payload,
    headers = { id = row.id, event = row.event },
  }
end

local function from_log(r)
  local topic = r.prefix:match("^outbox%.(.+)$")
  return topic and { topic = topic, value = r.content }
end

function onRecord(r)
  if r.kind == "message" then
    return from_log(r)
  end
  if r.source == "public.outbox" then
    return from_table(r)
  end
end
