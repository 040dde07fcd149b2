// Package natskv is a store in a NATS JetStream key-value bucket.
//
// Begin with New. One bucket holds the objects of one kind, a JSON value under each
// key; nats kv get shows them. Revisions are the sequences of the bucket's stream,
// and every write is compared with one by the server.
//
// A watch ends at once, with store.ErrWatchEnded, when anything may have been
// missed: the connection broke, a heartbeat did not come, a message was left out,
// the stream has what was not delivered, the bucket is gone or another one. A
// store.Informer then watches again. Watch waits for a stream that has no leader at
// the moment, and looks for one twice a second, so that it resumes as soon as there
// is one. Each watch has one consumer on the server, which is removed when it ends.
//
// A store.Informer with the default pauses tells of what changed within five seconds of
// there being a new leader, and, after a restart of a single server, within five seconds
// of it answering this connection, however long it was away. When the connection is back,
// is what its ReconnectWait says, which is two seconds unless you choose; give it
// nats.MaxReconnects(-1), or it gives up.
//
// JetStream acknowledges writes before they are on the disk. A machine that loses
// its power, or a cluster that loses a majority of its machines, may lose writes
// that were acknowledged; set sync_interval: always in the servers' configuration
// where that must not be. A client cannot see how it is set. What is lost that way
// shows as a revision that goes back, which informers do not take for deletions.
//
// It is a module of its own, so that programs that do not use NATS do not have its
// client.
package natskv
