//! Recordings in files, so that a failure can be examined again: threads never run the same way twice.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::blocks::{BLOCK, Blocks};
use crate::error::{PowercutError, cannot};
use crate::model::Model;
use crate::recorder::Record;
use crate::recording::Recording;

/// The first line of the file. Blocks and records follow, each preceded by little-endian numbers.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Header {
    /// The file system.
    pub(crate) system: String,
    /// The seed of the round.
    pub(crate) seed: u64,
    /// The number of points chosen.
    pub(crate) points: usize,
    device_number: u64,
    recoveries: Vec<(usize, usize)>,
    models: Vec<Model>,
    blocks: usize,
    records: usize,
}

/// Marks a flush among the offsets of writes.
const FLUSH: u64 = u64::MAX;

/// Writes a recording to a file.
pub(crate) fn save(
    path: &Path,
    system: &str,
    seed: u64,
    points: usize,
    recording: Recording,
) -> Result<(), PowercutError> {
    let header = Header {
        system: system.to_owned(),
        seed,
        points,
        device_number: recording.device_number,
        recoveries: recording.recoveries,
        models: recording.models,
        blocks: recording.first.written().len(),
        records: recording.records.len(),
    };
    let write = || -> io::Result<()> {
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory)?;
        }
        let mut file = BufWriter::new(File::create(path)?);
        serde_json::to_writer(&mut file, &header)?;
        file.write_all(b"\n")?;
        for (at, block) in recording.first.written() {
            file.write_all(&at.to_le_bytes())?;
            file.write_all(block)?;
        }
        for record in &recording.records {
            match record {
                Record::Flush => file.write_all(&FLUSH.to_le_bytes())?,
                Record::Write { offset, bytes } => {
                    file.write_all(&offset.to_le_bytes())?;
                    file.write_all(&(bytes.len() as u64).to_le_bytes())?;
                    file.write_all(bytes)?;
                }
            }
        }
        file.flush()
    };
    write().map_err(cannot(format!("save the recording as {}", path.display())))
}

/// Reads a recording from a file.
pub(crate) fn load(path: &Path) -> Result<(Header, Recording), PowercutError> {
    let read = || -> io::Result<(Header, Recording)> {
        let mut file = BufReader::new(File::open(path)?);
        let mut line = String::new();
        file.read_line(&mut line)?;
        let mut header: Header = serde_json::from_str(&line)?;
        let mut first = Blocks::default();
        let mut block = [0; BLOCK];
        for _ in 0..header.blocks {
            let at = number(&mut file)?;
            file.read_exact(&mut block)?;
            first.write(at * BLOCK as u64, &block);
        }
        let mut records = Vec::with_capacity(header.records);
        for _ in 0..header.records {
            let offset = number(&mut file)?;
            if offset == FLUSH {
                records.push(Record::Flush);
                continue;
            }
            let length = usize::try_from(number(&mut file)?).map_err(io::Error::other)?;
            let mut bytes = vec![0; length];
            file.read_exact(&mut bytes)?;
            records.push(Record::Write { offset, bytes: bytes.into() });
        }
        let recording = Recording {
            first,
            records,
            models: std::mem::take(&mut header.models),
            recoveries: std::mem::take(&mut header.recoveries),
            device_number: header.device_number,
        };
        Ok((header, recording))
    };
    read().map_err(cannot(format!("read the recording {}", path.display())))
}

fn number(file: &mut impl Read) -> io::Result<u64> {
    let mut bytes = [0; 8];
    file.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}
