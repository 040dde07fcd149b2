package statuspage

import (
	"testing"

	"github.com/moorage-dev/moorage/pkg/changelog"
	"github.com/moorage-dev/moorage/pkg/external/limit"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestVolatileTextsAreNoChange: the version of a fleet does not depend on the order of the objects and on counters.
func TestVolatileTextsAreNoChange(t *testing.T) {
	x := example()
	before := x.read(t.Context()).version
	x.change(func() {
		x.objects[0], x.objects[3] = x.objects[3], x.objects[0]
		x.connections[0].Calls, x.connections[0].Waiting, x.connections[0].InFlight = 99, 5, 2
	})
	if after := x.read(t.Context()).version; after != before {
		t.Error("a counter is a change")
	}
	for name, change := range map[string]func(){
		"an object":    func() { x.objects[1].SetResourceVersion("2") },
		"a connection": func() { x.connections[0].Reason = limit.ReasonUnavailable },
		"the leader":   func() { x.leadership.leader = "pod-2" },
		"a backlog":    func() { x.connections[0].Waiting = 500 },
		"a new object": func() { x.objects = append(x.objects, resource.Managed(newBucket("more"))) },
		"a change": func() {
			must(t, x.changes.Record(t.Context(), changelog.Entry{Name: "a"}))
		},
	} {
		before := x.read(t.Context()).version
		x.change(change)
		if x.read(t.Context()).version == before {
			t.Errorf("%s is no change", name)
		}
	}
}
