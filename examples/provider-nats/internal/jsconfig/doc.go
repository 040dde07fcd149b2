// Package jsconfig translates between the parameters of our kinds and the configuration of a JetStream
// stream, which all buckets are, or of a consumer.
//
// A desired configuration is always an overlay: the observed one (or an empty one for a creation) with the
// settings of the spec applied. The difference between the two is the drift, and sending the overlay
// corrects it without changing other settings. Start with [Stream], [KeyValue], [ObjectStore] and
// [Consumer]; all functions are pure and may be called concurrently.
package jsconfig
