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
		"Value":    {reason: "A plain value has none.", secret: "swordfish and chips"},
		"URL":      {reason: "The password of a URL.", secret: "postgres://bob:sword%2Ffish@db:5432/app?a=b\n", want: []string{"sword/fish"}},
		"URLToken": {reason: "Or what stands for user and password.", secret: "nats://swordfish@h:4222", want: []string{"swordfish"}},
		"JSON":     {reason: "What is below a telling key.", secret: `{"type":"account","user":"bob","password":"swordfish","tokens":[{"t":"cuttlefish"}],"n":1}`, want: []string{"cuttlefish", "swordfish"}},
		"JSONURL":  {reason: "And a URL anywhere.", secret: `["nats://bob:swordfish@h"]`, want: []string{"swordfish"}},
		"Lines":    {reason: "Files of keys and values.", secret: "[default]\nregion = north\nsecret_access_key = sword=fish\r\nexport TOKEN='cuttlefish'\n", want: []string{"cuttlefish", "sword=fish"}},
		"YAML":     {reason: "However they are written.", secret: "user: bob\n  \"clientSecret\": \"swordfish\",\n", want: []string{"swordfish"}},
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
	m := NewMask([]byte(`{"user":"bob@harbour","password":"swordfish"}`))

	want := `login of bob@harbour with [REDACTED] refused`
	if diff := cmp.Diff(want, m.Text("login of bob@harbour with swordfish refused")); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
