package recipes

import (
	"context"
	"testing"

	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
)

type zoneServer struct{}

func (zoneServer) Create(context.Context, string) (string, error) { return "7", nil }
func (zoneServer) Drop(context.Context, string, string) error     { return nil }

// TestKeys reads what Create has written, and refuses names of another form.
func TestKeys(t *testing.T) {
	u := user("ann")
	if err := (&ZoneClient{API: zoneServer{}}).Create(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	u.Spec.Team = "red"
	if zone, id, err := keys(u); zone != "blue" || id != "7" || err != nil {
		t.Errorf("got %q, %q, %v", zone, id, err)
	}
	for _, name := range []string{"", "blue", "/7", "blue/", "blue/7/8"} {
		meta.SetExternalName(u, name)
		if _, _, err := keys(u); err == nil {
			t.Errorf("%q is taken for two keys", name)
		} else if _, terminal := external.TerminalReason(err); !terminal {
			t.Errorf("%q: %v is no terminal error", name, err)
		}
	}
}
