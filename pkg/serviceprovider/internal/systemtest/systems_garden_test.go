package systemtest

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/serviceprovider"
)

var group = schema.GroupVersion{Group: "garden.example.org", Version: "v1"}

// A Garden is the object of a user: a bed, which is a ConfigMap, in a control plane.
type Garden struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Status GardenStatus `json:"status,omitempty"`
}

type GardenStatus struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Phase              string             `json:"phase,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
	Revision           string             `json:"revision,omitempty"`
}

func (g *Garden) Finalizer() string                  { return "garden.example.org/service" }
func (g *Garden) GetStatus() any                     { return g.Status }
func (g *Garden) GetConditions() *[]metav1.Condition { return &g.Status.Conditions }
func (g *Garden) SetPhase(p string)                  { g.Status.Phase = p }
func (g *Garden) SetObservedGeneration(n int64)      { g.Status.ObservedGeneration = n }

func (g *Garden) DeepCopyObject() runtime.Object {
	out := *g
	out.ObjectMeta = *g.ObjectMeta.DeepCopy()
	out.Status.Conditions = slices.Clone(g.Status.Conditions)

	return &out
}

type GardenList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Garden `json:"items"`
}

func (l *GardenList) DeepCopyObject() runtime.Object {
	out := &GardenList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy()}
	for i := range l.Items {
		out.Items = append(out.Items, *l.Items[i].DeepCopyObject().(*Garden))
	}

	return out
}

// A GardenConfig is what grows in all gardens.
type GardenConfig struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Plant string          `json:"plant,omitempty"`
	Poll  metav1.Duration `json:"poll,omitempty"`
}

func (c *GardenConfig) PollInterval() time.Duration { return c.Poll.Duration }

func (c *GardenConfig) DeepCopyObject() runtime.Object {
	out := *c
	out.ObjectMeta = *c.ObjectMeta.DeepCopy()

	return &out
}

type GardenConfigList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []GardenConfig `json:"items"`
}

func (l *GardenConfigList) DeepCopyObject() runtime.Object {
	out := &GardenConfigList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy()}
	for i := range l.Items {
		out.Items = append(out.Items, *l.Items[i].DeepCopyObject().(*GardenConfig))
	}

	return out
}

// A gardener is the domain.
type gardener struct {
	fails sync.Map     // the names of gardens for which it fails
	log   list[string] // the names of reconciled gardens, and the calls of the mappings

	mu        sync.Mutex
	passes    int
	deletes   int
	revisions map[clusters.Revision]bool
	calls     map[string][]string // by the names of the gardens
	given     map[string]serviceprovider.ClusterContext
	meanwhile func(garden *Garden) // a concurrent change during a reconcile, once
}

func newGardener() *gardener {
	return &gardener{
		revisions: map[clusters.Revision]bool{}, calls: map[string][]string{},
		given: map[string]serviceprovider.ClusterContext{},
	}
}

var errNoRain = errors.New("there is no rain")

// begins notes a call, and says whether it fails.
func (g *gardener) begins(what string, garden *Garden, cc serviceprovider.ClusterContext) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.calls[garden.Name] = append(g.calls[garden.Name], what)
	g.given[garden.Name] = cc
	g.revisions[cc.Revision(serviceprovider.ClusterMCP)] = true
	if what == "Delete" {
		g.deletes++
	} else {
		g.passes++
		g.log.add(garden.Name)
	}
	if _, fails := g.fails.Load(garden.Name); fails {
		return errNoRain
	}

	return nil
}

// called counts the calls for a garden.
func (g *gardener) called(what, garden string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := 0
	for _, c := range g.calls[garden] {
		if c == what {
			n++
		}
	}

	return n
}

func (g *gardener) CreateOrUpdate(ctx context.Context, garden *Garden, c *GardenConfig,
	cc serviceprovider.ClusterContext) (ctrl.Result, error) {
	if err := g.begins("CreateOrUpdate", garden, cc); err != nil {
		serviceprovider.StatusProgressing(garden, "Planting", err.Error())

		return ctrl.Result{}, err
	}
	g.mu.Lock()
	meanwhile := g.meanwhile
	g.meanwhile = nil
	g.mu.Unlock()
	if meanwhile != nil {
		meanwhile(garden)
	}
	bed := newBed(garden)
	_, err := controllerutil.CreateOrUpdate(ctx, cc.MCPCluster.Client(), bed, func() error {
		if bed.Data["plant"] != c.Plant {
			bed.Data = map[string]string{"plant": c.Plant}
		}

		return nil
	})
	if err != nil {
		serviceprovider.StatusProgressing(garden, "Planting", err.Error())

		return ctrl.Result{}, err
	}
	if shed := cc.WorkloadCluster; shed != nil {
		// There may be something in it, which is of no interest.
		if err := client.IgnoreNotFound(shed.Client().Get(ctx, client.ObjectKeyFromObject(bed),
			newBed(garden))); err != nil {
			serviceprovider.StatusProgressing(garden, "Planting", err.Error())

			return ctrl.Result{}, err
		}
	}
	garden.Status.Revision = string(cc.Revision(serviceprovider.ClusterMCP))
	serviceprovider.StatusReady(garden)

	return ctrl.Result{}, nil
}

// Delete waits for the pots that a user has put into the garden.
func (g *gardener) Delete(ctx context.Context, garden *Garden, _ *GardenConfig,
	cc serviceprovider.ClusterContext) (ctrl.Result, error) {
	serviceprovider.StatusTerminating(garden)
	if err := g.begins("Delete", garden, cc); err != nil {
		return ctrl.Result{}, err
	}
	err := cc.MCPCluster.Client().Get(ctx, client.ObjectKeyFromObject(newPot(garden)), newPot(garden))
	if !kerrors.IsNotFound(err) {
		return ctrl.Result{RequeueAfter: 100 * time.Millisecond}, err
	}

	return ctrl.Result{}, client.IgnoreNotFound(cc.MCPCluster.Client().Delete(ctx, newBed(garden)))
}

func (g *gardener) counts() (passes, deletes, revisions int) {
	g.mu.Lock()
	defer g.mu.Unlock()

	return g.passes, g.deletes, len(slices.Collect(maps.Keys(g.revisions)))
}

// A reader is a gardener who looks at all gardens when a Secret or a ConfigMap with seeds
// changes.
type reader struct{ *gardener }

func (r reader) IsReferencedSecret(_ context.Context, s *corev1.Secret, c *GardenConfig) bool {
	return r.reads("Secret "+s.Name, c) && strings.HasPrefix(s.Name, "seeds")
}

func (r reader) IsReferencedConfigMap(_ context.Context, m *corev1.ConfigMap, c *GardenConfig) bool {
	return r.reads("ConfigMap "+m.Name, c) && strings.HasPrefix(m.Name, "seeds")
}

// reads records a call of a mapping.
func (r reader) reads(what string, c *GardenConfig) bool {
	if c == nil {
		what += " without a configuration"
	}
	r.log.add(what)

	return true
}

func newBed(g *Garden) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: g.Namespace + "-" + g.Name}}
}

func newPot(g *Garden) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: g.Namespace + "-" + g.Name + "-pot",
	}}
}

func definition(kind, plural string, scope apiextensionsv1.ResourceScope) *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + group.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group.Group, Scope: scope,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Kind: kind, ListKind: kind + "List"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: group.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{
					OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)},
				},
				Subresources: &apiextensionsv1.CustomResourceSubresources{
					Status: &apiextensionsv1.CustomResourceSubresourceStatus{},
				},
			}},
		},
	}
}
