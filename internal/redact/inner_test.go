package redact

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestInner(t *testing.T) {
	cases := map[string]struct {
		reason string
		secret string
		want   []string
	}{
		"Value": {reason: "A plain value has none.", secret: "swordfish and chips"},
		"URL": {
			reason: "The password of a URL.",
			secret: "postgres://bob:sword%2Ffish@db:5432/app?a=b\n", want: []string{"sword/fish"},
		},
		"URLToken": {
			reason: "Or what stands for user and password.", secret: "nats://swordfish@h:4222",
			want: []string{"swordfish"},
		},
		"JSON": {
			reason: "What is below a telling key.",
			secret: `{"type":"account","user":"bob","password":"swordfish","tokens":[{"t":"cuttlefish"}],"n":1}`,
			want:   []string{"cuttlefish", "swordfish"},
		},
		"JSONURL": {reason: "And a URL anywhere.", secret: `["nats://bob:swordfish@h"]`, want: []string{"swordfish"}},
		"JSONPin": {
			reason: "What its key does not tell is secret.",
			secret: `{"pin":"swordfish","otp":839201,"unlock":{"code":"cuttlefish"}}`,
			want:   []string{"839201", "cuttlefish", "swordfish"},
		},
		"JSONList": {
			reason: "So is what is in a list.",
			secret: `{"recovery":["swordfish",{"x":"cuttlefish"}]}`,
			want:   []string{"cuttlefish", "swordfish"},
		},
		"JSONBare": {reason: "Or has no key at all.", secret: `["swordfish"]`, want: []string{"swordfish"}},
		"JSONText": {reason: "Or is a text.", secret: `"swordfish"`, want: []string{"swordfish"}},
		"JSONTold": {
			reason: "A key can tell that it is none, and so can a value.",
			secret: `{"type":"service_account","project_id":"orders-prod","client_email":"a@b.example.com",` +
				`"userName":"bob","hosts":["db-0","db-1"],"created":1732558290,"region":"north",` +
				`"primary":"db.example.com:5432","mode":"require","since":"2026-11-25T18:15:00Z","login":"bob@server",` +
				`"x":"https://h/a","y":"production"}`,
		},
		"JSONBelow": {
			reason: "What is below a harmless key need not be.",
			secret: `{"users":[{"name":"bob","pin":"swordfish"}],"cluster":{"x":"cuttlefish"}}`,
			want:   []string{"cuttlefish", "swordfish"},
		},
		"Lines": {
			reason: "Files of keys and values.",
			secret: "[default]\nregion = north\nsecret_access_key = sword=fish\r\nexport TOKEN='cuttlefish'\n",
			want:   []string{"cuttlefish", "sword=fish"},
		},
		"YAML": {
			reason: "However they are written.",
			secret: "user: bob\n  \"clientSecret\": \"swordfish\",\n", want: []string{"swordfish"},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := inner(tc.secret)
			slices.Sort(got)

			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestMaskKnowsWhatIsInside(t *testing.T) {
	m := NewMask([]byte(`{"user":"bob@server","password":"swordfish"}`))

	want := `login of bob@server with [REDACTED] refused`
	if diff := cmp.Diff(want, m.Text("login of bob@server with swordfish refused")); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestMaskKnowsAllOfADocument holds what comes back alone, out of a Secret in JSON whose keys
// do not tell that it is secret.
func TestMaskKnowsAllOfADocument(t *testing.T) {
	m := NewMask([]byte(`{"host":"db.region.example.com","pin":"4711-0815","number":839201,` +
		`"recovery":["swordfish","cuttlefish"]}`))

	want := `db.region.example.com: PIN [REDACTED] (BASE64 [REDACTED]), number [REDACTED], [REDACTED] and ` +
		`[REDACTED] refused`
	in := `db.region.example.com: PIN 4711-0815 (BASE64 NDcxMS0wODE1), number 839201, swordfish and CUTTLEFISH refused`

	if diff := cmp.Diff(want, m.Text(in)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
