package controller

import (
	"strings"

	"github.com/moorage-dev/moorage/examples/provider-nats/internal/natsconn"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// Keys of a connection Secret. Which of them are present depends on the kind and on the configuration.
// Credentials are not among them: those of the provider allow more than an application should do.
const (
	detailServers       = "servers" // separated by commas, as clients of NATS take them
	detailDomain        = "domain"
	detailPrefix        = "jsPrefix"
	detailStream        = "stream"
	detailSubjects      = "subjects" // separated by commas
	detailBucket        = "bucket"
	detailConsumer      = "consumer"
	detailDeliver       = "deliverSubject"
	detailDeliverGroup  = "deliverGroup"
	detailListSeparator = ","
)

// details returns what an application needs to find the external resource, or nil if the object does not
// ask for it.
func details(mg resource.Managed, at natsconn.Address, what map[string]string) managed.ConnectionDetails {
	writer, ok := mg.(resource.ConnectionSecretWriterTo)
	if !ok || writer.GetWriteConnectionSecretToReference() == nil {
		return nil
	}

	out := managed.ConnectionDetails{detailServers: []byte(strings.Join(at.Servers, detailListSeparator))}

	for key, value := range map[string]string{detailDomain: at.Domain, detailPrefix: at.Prefix} {
		if value != "" {
			out[key] = []byte(value)
		}
	}

	for key, value := range what {
		if value != "" {
			out[key] = []byte(value)
		}
	}

	return out
}
