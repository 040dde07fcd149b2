// Package natskv is a store in a NATS JetStream key-value bucket.
//
// Start with New. One bucket holds the objects of one kind, with a JSON value under each key, which nats kv get shows.
// A revision is a sequence of the bucket's stream. The server compares every write with the revision on which the write
// is based.
//
// A watch ends at once, with store.ErrWatchEnded, when it may have missed an event. The reasons are: the connection
// broke, a heartbeat or a message is missing, the stream has undelivered messages, or the bucket was deleted or
// replaced. A store.Informer then starts another watch. While the stream has no leader, Watch checks for one twice a
// second, so that it continues as soon as there is a leader. Each watch has one consumer on the server, which is
// deleted when the watch ends.
//
// With the default backoff, a store.Informer reports changes within five seconds after a new leader is elected. After a
// restart of a single server, it reports them within five seconds after the connection is established again, regardless
// of how long the server was down. The connection tries to reconnect at intervals of its ReconnectWait, two seconds by
// default. By default it stops after 60 attempts; set nats.MaxReconnects(-1) to prevent that.
//
// JetStream acknowledges writes before they are on disk. Acknowledged writes may be lost when a machine loses power, or
// when a cluster loses a majority of its machines. To avoid that, set sync_interval: always in the configuration of the
// servers. A client cannot read that setting. After such a loss the revision is lower than before, and informers do not
// treat the missing objects as deleted.
//
// Package natskv is a separate module, so that other programs do not depend on the NATS client.
package natskv
