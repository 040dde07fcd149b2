package managed

import (
	"context"
	"strings"
	"testing"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// An aboveReader shows what an object goes with, and knows the definitions of some kinds.
type aboveReader struct {
	Cluster
	client.Client

	mapper apimeta.RESTMapper
	going  bool
	err    error
	asked  []string
}

func (c *aboveReader) GetAPIReader() client.Reader    { return c }
func (c *aboveReader) RESTMapper() apimeta.RESTMapper { return c.mapper }

func (c *aboveReader) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	c.asked = append(c.asked, o.GetObjectKind().GroupVersionKind().String()+" "+key.String())
	if c.going {
		o.SetDeletionTimestamp(&metav1.Time{Time: noon})
	}

	return c.err
}

// TestRetainByParent verifies that each parent is read when needed, and that an unanswered read neither deletes nor
// retains.
func TestRetainByParent(t *testing.T) {
	kind := schema.GroupVersionKind{Group: "g", Version: "v", Kind: "K"}
	known := apimeta.NewDefaultRESTMapper(nil)
	known.Add(kind, apimeta.RESTScopeNamespace)
	const namespace, definition = "/v1, Kind=Namespace /apps", "apiextensions.k8s.io/v1, Kind=CustomResourceDefinition " +
		"/ks.g"
	absent := kerrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "apps")
	cases := map[string]struct {
		reason         string
		namespace      string
		retained       bool // in this pass
		reportedBefore bool // before
		reader         aboveReader
		want           bool
		err            string
		asked          string
		events         int
	}{
		"Stays": {"nothing goes", "apps", false, false, aboveReader{mapper: known}, false, "",
			namespace + "; " + definition, 0},
		"Goes": {"the namespace does", "apps", false, false, aboveReader{mapper: known, going: true}, true, "",
			namespace, 1},
		"ToldBefore": {"it was told", "apps", false, true, aboveReader{mapper: known, going: true}, true, "",
			namespace, 0},
		"Known":   {"this pass knows", "apps", true, false, aboveReader{}, true, "", "", 0},
		"Cluster": {"it has no namespace", "", false, false, aboveReader{mapper: known}, false, "", definition, 0},
		"Undefined": {"nobody knows the definition", "apps", false, false,
			aboveReader{mapper: apimeta.NewDefaultRESTMapper(nil), going: true}, false,
			"cannot tell the definition of the kind", "", 0},
		"Fails": {"nobody can tell", "apps", false, false,
			aboveReader{mapper: known, going: true, err: errors.New("boom")}, false,
			"cannot tell whether Namespace apps is being deleted: boom", namespace, 0},
		"Gone": {"it is not there any more", "apps", false, false,
			aboveReader{mapper: known, going: true, err: absent}, false,
			"cannot tell whether CustomResourceDefinition ks.g", namespace + "; " + definition, 0},
	}
	for name, tc := range cases {
		mg := bearing(nil)
		mg.SetNamespace(tc.namespace)
		p := passOf(mg, remembering(objectstate.Deletion{Retained: tc.reportedBefore}), WithDeletionGuard())
		p.r.of.Group, p.r.of.Version, p.r.of.Kind = kind.Group, kind.Version, kind.Kind
		p.r.client, p.r.cluster, p.retained = &tc.reader, &tc.reader, tc.retained
		got, err := p.retain(t.Context())
		if got != tc.want || p.retained != tc.want || (err != nil) != (tc.err != "") ||
			err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: %s: spared %t, noted %t, %v", name, tc.reason, got, p.retained, err)
		}
		if asked := strings.Join(tc.reader.asked, "; "); asked != tc.asked || len(p.events) != tc.events {
			t.Errorf("%s: %s: asked for %q, told %+v", name, tc.reason, asked, p.events)
		}
	}
}
