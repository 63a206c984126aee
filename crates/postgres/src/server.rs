//! What a server must be, and how it must be set, before anything is written to it.

use crate::connection::Connection;
use crate::error::Failure;
use crate::schema::unusable;

/// The oldest server whose functions the statements use.
const OLDEST_SERVER: i32 = 13;

/// Refuses a server that is too old or accepts no writes.
pub(crate) fn check_writable(connection: &mut Connection) -> Result<(), Failure> {
    let state = "SELECT current_setting('server_version_num')::integer / 10000, pg_is_in_recovery(), \
         current_setting('transaction_read_only')::boolean";
    for row in connection.query(state, &[])? {
        let (version, is_standby, is_read_only): (i32, bool, bool) =
            (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        if version < OLDEST_SERVER {
            let text =
                format!("PostgreSQL {version} is too old; version {OLDEST_SERVER} is needed");
            return Err(unusable(text).into());
        }
        if is_standby {
            let text = "the server is a standby, which can only be read; name all servers as HOST,HOST \
                 and add target_session_attrs=read-write";
            return Err(unusable(text.to_owned()).into());
        }
        if is_read_only {
            let text = "the server accepts no writes: default_transaction_read_only is on";
            return Err(unusable(text.to_owned()).into());
        }
    }
    Ok(())
}

/// Refuses a server that would acknowledge commits that a power cut can take back.
pub(crate) fn check_durability(connection: &mut Connection) -> Result<(), Failure> {
    let settings = "SELECT name, setting FROM pg_settings WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit')";
    for row in connection.query(settings, &[])? {
        let (name, value): (&str, &str) = (row.try_get(0)?, row.try_get(1)?);
        if !matches!(value, "on" | "remote_apply") {
            let text = format!(
                "the server has {name} = {value}, so a power cut could take back turns; set {name} = on"
            );
            return Err(unusable(text).into());
        }
    }
    Ok(())
}
