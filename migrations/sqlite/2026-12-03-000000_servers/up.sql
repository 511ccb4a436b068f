-- The server behind a generation, and when what it left was taken up by another one.
ALTER TABLE backend_generations ADD COLUMN server TEXT NOT NULL DEFAULT '';
ALTER TABLE backend_generations ADD COLUMN recovered_us BIGINT;
CREATE INDEX generations_unrecovered ON backend_generations (epoch) WHERE recovered_us IS NULL;
