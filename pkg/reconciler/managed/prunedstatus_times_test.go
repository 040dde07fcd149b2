package managed

import (
	"reflect"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/objectjson"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
)

// TestAChangeIsComparedWithoutVolatileFields verifies that volatile fields do not make an unstored change another
// one.
func TestAChangeIsComparedWithoutVolatileFields(t *testing.T) {
	change := func(used int64) map[string]any { return map[string]any{"size": int64(5), "usedBytes": used} }
	p := passOf(bearing(nil), remembering(), WithVolatileStatus("usedBytes"))
	p.recordPruned(objectjson.Status{Fields: change(1)}, change(2))
	if !p.prunedBefore(objectjson.Status{Fields: change(3)}, change(4)) {
		t.Error("other used bytes are taken for another change")
	}
	if p.prunedBefore(objectjson.Status{}, change(2)) {
		t.Error("a change of another status is taken for the same")
	}
}

// TestAChangeIsComparedWithoutItsTimes verifies that an unstored change is compared without its times, and sent
// with them.
func TestAChangeIsComparedWithoutItsTimes(t *testing.T) {
	change := func(at time.Time) map[string]any {
		return map[string]any{
			"size":       int64(5),
			"conditions": []commonv1.Condition{{Type: "Ready", Status: "True", LastTransitionTime: metav1.NewTime(at)}},
		}
	}
	p := passOf(bearing(nil), remembering())
	for _, at := range []time.Time{noon, noon.Add(time.Second)} {
		patch := change(at)
		if pruned := p.prunedBefore(objectjson.Status{}, patch); pruned != (at != noon) {
			t.Errorf("a change of %s was dropped lately: %t", at, pruned)
		}
		if p.recordPruned(objectjson.Status{}, patch); !reflect.DeepEqual(patch, change(at)) {
			t.Errorf("it is sent as %v, want %v", patch, change(at))
		}
	}
	if p.state.Dropped.Times != 2 {
		t.Errorf("remembered %+v", p.state.Dropped)
	}
}
