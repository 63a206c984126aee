-- Roles for one root with as few rights as possible. Run it with psql as a superuser, in the database of the root:
--
--     psql -v root=team -f roles.sql games
--
-- It creates three roles, named after the root, and can be run again:
--
--     team_owner   owns the schema; creates and migrates the tables. Use it once for each version of Everturn.
--     team_writer  reads and writes sessions.
--     team_reader  reads sessions.
--
-- The roles have no passwords yet: set one with \password, or grant a role to another one.
\set ON_ERROR_STOP on
\set owner :root _owner
\set writer :root _writer
\set reader :root _reader

SELECT format('CREATE ROLE %I LOGIN', role) FROM unnest(ARRAY[:'owner', :'writer', :'reader']) AS role
    WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role) \gexec

BEGIN;
CREATE SCHEMA IF NOT EXISTS :"root" AUTHORIZATION :"owner";
REVOKE ALL ON SCHEMA :"root" FROM PUBLIC;
GRANT USAGE ON SCHEMA :"root" TO :"writer", :"reader";

-- Tables that exist, and those that the owner creates later.
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA :"root" TO :"writer";
GRANT USAGE ON ALL SEQUENCES IN SCHEMA :"root" TO :"writer";
GRANT SELECT ON ALL TABLES IN SCHEMA :"root" TO :"reader";
ALTER DEFAULT PRIVILEGES FOR ROLE :"owner" IN SCHEMA :"root"
    GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO :"writer";
ALTER DEFAULT PRIVILEGES FOR ROLE :"owner" IN SCHEMA :"root" GRANT USAGE ON SEQUENCES TO :"writer";
ALTER DEFAULT PRIVILEGES FOR ROLE :"owner" IN SCHEMA :"root" GRANT SELECT ON TABLES TO :"reader";
COMMIT;
