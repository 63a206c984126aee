//! How sessions share one peer: a saver each, a mutex, or a writer thread with a channel.

use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use crate::peer::{PeerError, Saver, Sharing, StorePeer};
use crate::with_causes;
use crate::workload::WorkloadTurn;

/// The savers of all sessions, and the thread behind them if there is one.
pub(crate) struct SaverGroup {
    /// One saver for each session.
    pub(crate) savers: Vec<Box<dyn Saver>>,
    /// Ends when all savers are dropped; the peer is closed only then.
    pub(crate) writer: Option<JoinHandle<()>>,
}

/// Creates a saver for `peer` for each of `sessions` sessions.
pub(crate) fn make_savers(
    peer: &dyn StorePeer,
    sharing: Sharing,
    sessions: u32,
) -> Result<SaverGroup, PeerError> {
    match sharing {
        Sharing::OwnSaver => {
            let savers = (0..sessions).map(|session| peer.saver(session));
            Ok(SaverGroup { savers: savers.collect::<Result<_, _>>()?, writer: None })
        }
        Sharing::Mutex => {
            let shared = MutexSaver(Arc::new(Mutex::new(peer.saver(0)?)));
            let savers = (0..sessions).map(|_| Box::new(shared.clone()) as Box<dyn Saver>);
            Ok(SaverGroup { savers: savers.collect(), writer: None })
        }
        Sharing::WriterThread => {
            let (requests, waiting) = mpsc::channel();
            let saver = peer.saver(0)?;
            let writer = thread::spawn(move || save_batches(saver, &waiting));
            let savers = (0..sessions)
                .map(|_| Box::new(ChannelSaver::new(requests.clone())) as Box<dyn Saver>);
            Ok(SaverGroup { savers: savers.collect(), writer: Some(writer) })
        }
    }
}

#[derive(Clone)]
struct MutexSaver(Arc<Mutex<Box<dyn Saver>>>);

impl Saver for MutexSaver {
    fn save(&mut self, turns: &[Arc<WorkloadTurn>]) -> Result<(), PeerError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).save(turns)
    }
}

/// The answer of the writer thread; an error goes to every session of the batch, hence as text.
type SaveResult = Result<(), String>;

struct SaveRequest {
    turns: Vec<Arc<WorkloadTurn>>,
    answer: SyncSender<SaveResult>,
}

struct ChannelSaver {
    requests: Sender<SaveRequest>,
    answer: SyncSender<SaveResult>,
    answers: Receiver<SaveResult>,
}

impl ChannelSaver {
    fn new(requests: Sender<SaveRequest>) -> ChannelSaver {
        let (answer, answers) = mpsc::sync_channel(1);
        ChannelSaver { requests, answer, answers }
    }
}

impl Saver for ChannelSaver {
    fn save(&mut self, turns: &[Arc<WorkloadTurn>]) -> Result<(), PeerError> {
        let request = SaveRequest { turns: turns.to_vec(), answer: self.answer.clone() };
        self.requests.send(request).map_err(|_| PeerError::WriterGone)?;
        self.answers.recv().map_err(|_| PeerError::WriterGone)?.map_err(PeerError::Batch)
    }
}

/// Saves all turns waiting in the channel as one batch, repeatedly, until every sender is gone.
///
/// It never waits for more turns: a single turn is saved at once, and the turns that arrive during a save form the
/// next batch.
fn save_batches(mut saver: Box<dyn Saver>, waiting: &Receiver<SaveRequest>) {
    let mut turns = Vec::new();
    let mut answers = Vec::new();
    while let Ok(first) = waiting.recv() {
        for request in std::iter::once(first).chain(waiting.try_iter()) {
            turns.extend(request.turns);
            answers.push(request.answer);
        }
        let outcome = saver.save(&turns).map_err(|error| with_causes(&error));
        turns.clear();
        for answer in answers.drain(..) {
            // A session that no longer receives has given up; the others still need their answers.
            answer.send(outcome.clone()).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Workload;

    /// Records the sizes of its batches; each save waits until the gate is dropped.
    struct GatedSaver {
        entered: SyncSender<()>,
        gate: Receiver<()>,
        batches: Arc<Mutex<Vec<usize>>>,
    }

    impl Saver for GatedSaver {
        fn save(&mut self, turns: &[Arc<WorkloadTurn>]) -> Result<(), PeerError> {
            self.batches.lock().unwrap().push(turns.len());
            self.entered.send(()).unwrap();
            self.gate.recv().ok();
            Ok(())
        }
    }

    #[test]
    fn turns_that_arrive_during_a_save_share_the_next_one() {
        let workload = Workload::new(1, 4);
        let turns = &workload.sessions()[0];
        let (entered, inside) = mpsc::sync_channel(4);
        let (open, gate) = mpsc::channel::<()>();
        let batches = Arc::new(Mutex::new(Vec::new()));
        let saver = GatedSaver { entered, gate, batches: Arc::clone(&batches) };
        let (requests, waiting) = mpsc::channel();
        let writer = thread::spawn(move || save_batches(Box::new(saver), &waiting));
        let (answer, answers) = mpsc::sync_channel(4);
        let send = |turn: &Arc<WorkloadTurn>| {
            let turns = vec![Arc::clone(turn)];
            requests.send(SaveRequest { turns, answer: answer.clone() }).unwrap();
        };

        send(&turns[0]);
        inside.recv().unwrap();
        turns[1..].iter().for_each(send);
        drop(open);
        for _ in turns {
            assert_eq!(answers.recv().unwrap(), Ok(()));
        }
        drop(requests);
        writer.join().unwrap();
        assert_eq!(*batches.lock().unwrap(), [1, 3]);
    }

    struct FailingSaver;

    impl Saver for FailingSaver {
        fn save(&mut self, _: &[Arc<WorkloadTurn>]) -> Result<(), PeerError> {
            Err(PeerError::JournalMode { mode: "delete".to_owned() })
        }
    }

    impl StorePeer for FailingSaver {
        fn saver(&self, _: u32) -> Result<Box<dyn Saver>, PeerError> {
            Ok(Box::new(FailingSaver))
        }
    }

    #[test]
    fn a_failed_save_reaches_the_session_in_every_way_of_sharing() {
        let workload = Workload::new(1, 1);
        for sharing in [Sharing::OwnSaver, Sharing::Mutex, Sharing::WriterThread] {
            let mut crew = make_savers(&FailingSaver, sharing, 2).unwrap();
            for saver in &mut crew.savers {
                let error = saver.save(&workload.sessions()[0]).unwrap_err();
                assert!(error.to_string().contains("\"delete\""), "{sharing:?}: {error}");
            }
        }
    }
}
