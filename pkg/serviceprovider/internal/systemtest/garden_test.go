package systemtest

import (
	"context"
	"maps"
	"slices"
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
	"github.com/moorage-dev/moorage/pkg/serviceprovider"
)

var group = schema.GroupVersion{Group: "garden.example.org", Version: "v1"}

// A Garden is what a user asks for: a bed, which is a ConfigMap, in his control plane.
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
	mu        sync.Mutex
	passes    int
	deletes   int
	revisions map[clusters.Revision]bool
}

func (g *gardener) CreateOrUpdate(ctx context.Context, garden *Garden, c *GardenConfig, cc serviceprovider.ClusterContext) (ctrl.Result, error) {
	g.mu.Lock()
	g.passes++
	g.revisions[cc.Revision(serviceprovider.ClusterMCP)] = true
	g.mu.Unlock()
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
	garden.Status.Revision = string(cc.Revision(serviceprovider.ClusterMCP))
	serviceprovider.StatusReady(garden)

	return ctrl.Result{}, nil
}

// Delete waits for the pots that a user has put into his garden.
func (g *gardener) Delete(ctx context.Context, garden *Garden, _ *GardenConfig, cc serviceprovider.ClusterContext) (ctrl.Result, error) {
	g.mu.Lock()
	g.deletes++
	g.mu.Unlock()
	serviceprovider.StatusTerminating(garden)
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

func newBed(g *Garden) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: g.Namespace + "-" + g.Name}}
}

func newPot(g *Garden) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: g.Namespace + "-" + g.Name + "-pot"}}
}

func definition(kind, plural string, scope apiextensionsv1.ResourceScope) *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + group.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group.Group, Scope: scope,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Kind: kind, ListKind: kind + "List"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: group.Version, Served: true, Storage: true,
				Schema:       &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}},
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
			}},
		},
	}
}
