//! Bugs planted in the models' wiring, to show that the simulation would catch their kind in the product.

/// A planted bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// None.
    None,
    /// The checkpoint is answered before it is stored, so a confirm can come before it.
    ConfirmBeforeCheckpoint,
    /// The destination says durable of what it only holds, so a checkpoint can come before durability.
    CheckpointBeforeDurable,
    /// A restart inside a transaction skips one row too many.
    SkipOneMore,
    /// A position names a row that was not delivered yet.
    PositionAhead,
    /// The source's position is that of the row in the log, not of its commit: a short transaction that
    /// commits first moves it past a long one.
    PositionByRow,
    /// The destination adds instead of replacing.
    NotIdempotent,
    /// The destination ignores versions: the last writer wins.
    LastWriterWins,
    /// Changed columns never reach the destination.
    SchemaLost,
    /// Finished partitions are not caught up at a later point.
    NoCatchUp,
    /// A table counts as loaded once none of its partitions is pending, though some were read at an older
    /// point than others.
    LoadedAtSeveralPoints,
    /// A partition counts as done when it is opened.
    DoneBeforeRead,
    /// Unchanged values of tables that are still loading are not fetched.
    NoFetchWhileLoading,
    /// Values left out are not fetched where the load read at a later point than the stream is at.
    NoFetchAfterLoad,
    /// A table is emptied while its load goes on.
    TruncateWhileLoading,
    /// The destination forgets when a table was emptied.
    EmptiedForgotten,
    /// A rejected record is kept later than the desk says.
    LettersLate,
    /// The stage says kept of what it only holds.
    StagedLate,
    /// The stage forgets an entry when it gives it out, not when it is delivered.
    ForgottenBeforeDelivered,
    /// An entry that was removed from the stage is there again in the next life.
    RemovedComesBack,
    /// A put into the stage that was given up ends later, in the place of what was put there since.
    PutEndsLate,
    /// A row that got another key stays under the old one as well.
    OldKeyStays,
    /// Rows of the load have versions of the point they were read at plus a lot: they beat the stream.
    SnapshotWins,
}
