// Package natskv is a store in a NATS JetStream key-value bucket.
//
// Begin with New. One bucket holds the objects of one kind, a JSON value under each
// key; nats kv get shows them. Revisions are the sequences of the bucket's stream,
// and every write is compared with one by the server.
//
// A watch ends at once, with store.ErrWatchEnded, when it may have missed an event:
// the connection broke, a heartbeat is missing, a message is missing, the stream has
// messages that were not delivered, or the bucket was deleted or replaced. A
// store.Informer then watches again. While the stream has no leader, Watch checks for
// one twice a second, so that it resumes as soon as there is one. Each watch has one
// consumer on the server, which is deleted when the watch ends.
//
// With the default backoff a store.Informer reports changes within five seconds after a
// new leader is elected, and, after a restart of a single server, within five seconds
// after the connection is established again, however long the server was down. The
// connection reconnects at intervals of its ReconnectWait, two seconds by default; give
// it nats.MaxReconnects(-1), or it stops reconnecting after 60 attempts.
//
// JetStream acknowledges writes before they are on disk. A machine that loses power,
// or a cluster that loses a majority of its machines, may lose acknowledged writes;
// set sync_interval: always in the configuration of the servers where that is not
// acceptable. A client cannot read that setting. Such a loss shows as a revision that
// decreases, which informers do not treat as deletions.
//
// It is a module of its own, so that other programs do not depend on the NATS client.
package natskv
