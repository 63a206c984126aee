//! The state of a game: one JSON value for each scope.

use std::fmt;

use super::changes::Group;
use crate::delta::{Delta, DeltaError, apply_group};
use crate::tree::Tree;

/// The parts of a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// The world: places, characters, quests.
    World,
    /// The player's character.
    Player,
    /// The scene that is being played.
    Scene,
    /// Characters of their own file, in sessions of [`Form::Program`](super::Form::Program).
    Npcs,
}

impl Scope {
    /// The scopes of every session; only some have [`Scope::Npcs`] besides.
    pub const ALL: [Scope; 4] = [Scope::World, Scope::Player, Scope::Scene, Scope::Npcs];

    /// The name that files use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Scope::World => "world",
            Scope::Player => "player",
            Scope::Scene => "scene",
            Scope::Npcs => "npcs",
        }
    }

    /// The scope of that name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Scope> {
        Scope::ALL.into_iter().find(|scope| scope.as_str() == name)
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The state of a game at some turn.
#[derive(Debug, Clone)]
pub struct State {
    /// The world.
    pub world: Tree,
    /// The player's character.
    pub player: Tree,
    /// The scene, or `null` outside of scenes.
    pub scene: Tree,
    /// Characters of their own file, if the session has one.
    pub npcs: Option<Tree>,
}

impl State {
    /// A state with nothing in it.
    #[must_use]
    pub fn empty() -> State {
        State { world: Tree::object(), player: Tree::object(), scene: Tree::null(), npcs: None }
    }

    /// One part of it.
    #[must_use]
    pub fn get(&self, scope: Scope) -> Option<&Tree> {
        match scope {
            Scope::World => Some(&self.world),
            Scope::Player => Some(&self.player),
            Scope::Scene => Some(&self.scene),
            Scope::Npcs => self.npcs.as_ref(),
        }
    }

    pub(crate) fn get_mut(&mut self, scope: Scope) -> &mut Tree {
        match scope {
            Scope::World => &mut self.world,
            Scope::Player => &mut self.player,
            Scope::Scene => &mut self.scene,
            Scope::Npcs => self.npcs.get_or_insert_with(Tree::object),
        }
    }

    /// Applies the changes of one group, all or none.
    pub fn apply(&mut self, group: &mut Group) -> Result<(), (usize, DeltaError)> {
        apply_group(&mut group.deltas, self.get_mut(group.scope))
    }

    /// Takes back the changes of a group that was applied last.
    pub fn take_back(&mut self, group: &Group) -> Result<(), DeltaError> {
        let mut back: Vec<Delta> =
            group.deltas.iter().rev().map(Delta::inverse).collect::<Result<_, _>>()?;
        apply_group(&mut back, self.get_mut(group.scope)).map_err(|(_, error)| error)
    }

    /// Keeps all values in texts of their own, so that those of the logs they came from can go.
    pub(crate) fn settle(&mut self) {
        let npcs = self.npcs.iter_mut();
        for tree in [&mut self.world, &mut self.player, &mut self.scene].into_iter().chain(npcs) {
            if let Ok(own) = Tree::parse(tree.to_line()) {
                *tree = own;
            }
        }
    }

    /// Whether both are the same, but for the time at which the files were written.
    #[must_use]
    pub fn is_same(&self, other: &State) -> bool {
        let npcs = |state: &State| state.npcs.clone().unwrap_or_else(Tree::object);
        unstamped(&self.world).is_same(&unstamped(&other.world))
            && unstamped(&self.player).is_same(&unstamped(&other.player))
            && self.scene.is_same(&other.scene)
            && npcs(self).is_same(&npcs(other))
    }
}

/// The field of a state file that says when it was written; it is not part of the state.
pub(crate) const STAMP: &str = "lastUpdated";

/// A state without the time at which its file was written.
pub(crate) fn unstamped(tree: &Tree) -> Tree {
    let mut tree = tree.clone();
    if tree.at(&[STAMP]).is_some() {
        // It was just seen to be there.
        drop(Delta::delete(crate::delta::Path::array([STAMP])).apply_in_place(&mut tree));
    }
    tree
}
