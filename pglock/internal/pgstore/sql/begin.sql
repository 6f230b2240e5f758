-- Begins every request. A role or database may have another isolation by default, or be read-only: neither is assumed.
BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE
