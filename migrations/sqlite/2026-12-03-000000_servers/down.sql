DROP INDEX generations_unrecovered;
ALTER TABLE backend_generations DROP COLUMN recovered_us;
ALTER TABLE backend_generations DROP COLUMN server;
