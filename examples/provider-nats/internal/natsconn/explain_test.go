package natsconn

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
)

// TestExplain: failures of NATS as a whole are distinguished from those of one stream, and do not name a
// stream.
func TestExplain(t *testing.T) {
	api := func(http int, code jetstream.ErrorCode) error {
		return &jetstream.APIError{Code: http, ErrorCode: code, Description: "as NATS says"}
	}

	type says struct {
		Cause                                string
		Unavailable, Unauthorized, Throttled bool
	}

	cases := map[string]struct {
		reason string
		err    error
		cause  error // why the context of the request ended
		want   says
	}{
		"Timeout": {
			"no request is answered", context.DeadlineExceeded, context.DeadlineExceeded,
			says{
				Cause:       "NATS did not answer in time: see whether its servers have a leader: context deadline exceeded",
				Unavailable: true,
			},
		},
		"NoResponders": {
			"there is no JetStream", nats.ErrNoResponders, nil,
			says{
				Cause: "there is no JetStream for the user that the ProviderConfig logs in as: " +
					"enable it in NATS for the server and the account, " +
					"or correct spec.domain and spec.jsPrefix: nats: no responders available for request",
				Unavailable: true,
			},
		},
		"NoLeader": {
			"JetStream answers so itself", api(503, 10008), nil,
			says{
				Cause: "JetStream does not work at the moment: see whether its servers have a leader: nats: API error: " +
					"code=503 err_code=10008 description=as NATS says",
				Unavailable: true,
			},
		},
		"NoAccount": {
			"nothing can be done in it", api(503, 10035), nil,
			says{
				Cause: "NATS does not know the account that the ProviderConfig logs in to: nats: API error: code=503 " +
					"err_code=10035 description=as NATS says",
				Unavailable: true,
			},
		},
		"TooMany": {
			"the server is overloaded", api(429, 10167), nil,
			says{
				Cause: "NATS receives more requests than it serves: nats: API error: code=429 " +
					"err_code=10167 description=as NATS says",
				Throttled: true,
			},
		},
		"NoRoom":  {"others may find room", api(503, 10023), nil, says{}},
		"Missing": {"it is an answer", jetstream.ErrStreamNotFound, nil, says{}},
		"Denied": {
			"the credentials are good for something else",
			context.Canceled, errors.Wrap(nats.ErrPermissionViolation, "to Publish"), says{},
		},
		"Cancelled": {"a canceled request proves nothing", context.Canceled, context.Canceled, says{}},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := explain("STREAM.INFO.orders", tc.err, tc.cause)
			_, _, throttled := external.AsThrottled(err)
			got := says{
				Unavailable: external.IsUnavailable(err), Unauthorized: external.IsUnauthorized(err), Throttled: throttled,
			}
			got.Cause, _ = external.SharedCause(err)

			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\nexplain(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestExplainDisconnected(t *testing.T) {
	const lost = "the connection is lost, and is retried every second: "

	cases := map[string]struct {
		reason string
		last   error
		want   string
	}{
		"Nothing": {
			"there is no cause", nil,
			lost + "cannot reach NATS at nats://a, nats://b: " +
				"correct spec.servers of the ProviderConfig, or the network: nats: server is disconnected",
		},
		"Refused": {
			"the credentials are why", nats.ErrAuthorization,
			lost + "NATS refuses the credentials it was given: " +
				"correct spec.credentials of the ProviderConfig, or the Secret it names: nats: authorization violation",
		},
		"HungUp": {
			"a certificate is missing, and the connection was closed before that was read",
			errors.Wrap(nats.ErrTLS, "broken pipe"),
			lost + "cannot agree with NATS on TLS: " +
				"correct spec.tls of the ProviderConfig, or the Secrets it names: broken pipe: nats: tls error",
		},
		"Denied": {
			"the denial of an earlier request is no reason",
			errors.Wrap(nats.ErrPermissionViolation, `to Publish to "$JS.API.STREAM.CREATE.s"`),
			lost + "cannot reach NATS at nats://a, nats://b: " +
				"correct spec.servers of the ProviderConfig, or the network: nats: server is disconnected",
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
