package natsconn

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/moorage-dev/moorage/pkg/errors"
)

func TestExplainDisconnected(t *testing.T) {
	const lost = "the connection is lost, and tried again every second: "

	cases := map[string]struct {
		reason string
		last   error
		want   string
	}{
		"Nothing": {
			"nobody has said why", nil,
			lost + "cannot reach NATS at nats://a, nats://b: correct spec.servers of the ProviderConfig, or the network: nats: server is disconnected",
		},
		"Refused": {
			"the credentials are why", nats.ErrAuthorization,
			lost + "NATS refuses the credentials it was given: correct spec.credentials of the ProviderConfig, or the Secret it names: nats: authorization violation",
		},
		"HungUp": {
			"a certificate is missing, and nobody waited to hear that", errors.Wrap(nats.ErrTLS, "broken pipe"),
			lost + "cannot agree with NATS on TLS: correct spec.tls of the ProviderConfig, or the Secrets it names: broken pipe: nats: tls error",
		},
		"Denied": {
			"what NATS denied to a request before is no reason", errors.Wrap(nats.ErrPermissionViolation, `to Publish to "$JS.API.STREAM.CREATE.s"`),
			lost + "cannot reach NATS at nats://a, nats://b: correct spec.servers of the ProviderConfig, or the network: nats: server is disconnected",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := explainDisconnected(tc.last, []string{"nats://a", "nats://b"}).Error()
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\nexplainDisconnected(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
