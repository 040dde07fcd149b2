// Package examples holds the manifests that people begin with.
package examples

import _ "embed"

// Streams are sample streams, KeyValue a sample bucket, as YAML documents.
var (
	//go:embed stream.yaml
	Streams string

	//go:embed keyvalue.yaml
	KeyValue string
)
