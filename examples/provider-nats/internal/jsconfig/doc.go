// Package jsconfig translates between the parameters of our kinds and the
// configuration of a JetStream stream, which is what buckets are in the end, or
// of a consumer.
//
// A desired configuration is always an overlay: the observed one (or an empty
// one for a creation) with everything on it that the user asked for. What
// differs between the two is the drift, and sending the overlay corrects it
// without touching what nobody asked for. Start with [Stream], [KeyValue],
// [ObjectStore] and [Consumer]; all functions are pure and may be called
// concurrently.
package jsconfig
