-- Begins every request. A role or a database may have another isolation by default, or be read-only.
BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE
