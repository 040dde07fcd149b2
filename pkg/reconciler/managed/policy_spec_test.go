package managed

import (
	"reflect"
	"testing"

	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

type ownPolicy string

type (
	plainPolicy   struct{ fake.Managed }
	pointerPolicy struct {
		fake.Managed

		policy *ownPolicy
	}
	numberPolicy struct{ fake.Managed }
	askedPolicy  struct{ fake.Managed }
)

func (*plainPolicy) GetDeletionPolicy() ownPolicy { return "Orphan" }

func (p *pointerPolicy) GetDeletionPolicy() *ownPolicy { return p.policy }

func (*numberPolicy) GetDeletionPolicy() *int { return nil }

func (*askedPolicy) GetDeletionPolicy(string) ownPolicy { return "Orphan" }

// TestDeletionPolicyOf verifies that GetDeletionPolicy may return any string type, or a pointer to one.
func TestDeletionPolicyOf(t *testing.T) {
	orphan := ownPolicy("Orphan")
	for name, tc := range map[string]struct {
		mg   resource.Managed
		has  bool
		want string
	}{
		"a text":             {&plainPolicy{}, true, "Orphan"},
		"a pointer":          {&pointerPolicy{policy: &orphan}, true, "Orphan"},
		"a nil pointer":      {&pointerPolicy{}, true, ""},
		"a pointer to other": {&numberPolicy{}, false, ""},
		"another signature":  {&askedPolicy{}, false, ""},
		"no method":          {&fake.Managed{}, false, ""},
	} {
		read := deletionPolicyOf(reflect.TypeOf(tc.mg))
		if (read != nil) != tc.has || read != nil && read(tc.mg) != tc.want {
			t.Errorf("%s: it is read: %t", name, read != nil)
		}
	}
}
