// Package examples holds manifests to start from.
package examples

import _ "embed"

// Sample streams, a sample bucket, a sample object store, and sample consumers of
// the streams, as YAML documents.
var (
	//go:embed stream.yaml
	Streams string

	//go:embed keyvalue.yaml
	KeyValue string

	//go:embed objectstore.yaml
	ObjectStore string

	//go:embed consumer.yaml
	Consumers string
)
