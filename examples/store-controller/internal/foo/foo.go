// Package foo is the sample: for each Foo, which is in NATS, there is a Deployment in Kubernetes. Its controller has
// the older shape, of package controllerruntime.
package foo

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	appslisters "k8s.io/client-go/listers/apps/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/store"
	"github.com/moorage-dev/moorage/pkg/storecontroller/controllerruntime"
)

// Kind is the kind of a Foo in the owner marks of deployments.
const Kind = "foo"

// A Foo specifies a Deployment in the namespace of the controller.
type Foo struct {
	Metadata store.Metadata `json:"metadata"`
	Spec     Spec           `json:"spec"`
	Status   Status         `json:"status,omitzero"`
}

// A Spec is the desired state of a Foo.
type Spec struct {
	DeploymentName string `json:"deploymentName"`
	Replicas       int32  `json:"replicas"`
}

// A Status is the observed state of a Foo.
type Status struct {
	AvailableReplicas int32  `json:"availableReplicas"`
	Problem           string `json:"problem,omitempty"`
}

// GetMetadata returns the metadata.
func (f *Foo) GetMetadata() *store.Metadata { return &f.Metadata }

type none = controllerruntime.None

// Runtime is the runtime of the controller: one secondary kind in Kubernetes, none in NATS.
type Runtime = controllerruntime.ControllerRuntime[*Foo, none, none, none, none, none, none, none, none]

// A Controller maintains the deployments of Foos. Use NewController.
type Controller struct {
	runtime     *Runtime
	foos        store.Store[*Foo]
	kube        kubernetes.Interface
	namespace   string
	deployments appslisters.DeploymentLister
}

var _ controllerruntime.IController = &Controller{}

// NewController returns a controller that is not running yet. The caller runs the informer of deployments.
func NewController(foos store.Store[*Foo], kube kubernetes.Interface, namespace string,
	deployments cache.SharedIndexInformer) *Controller {
	c := &Controller{foos: foos, kube: kube, namespace: namespace,
		deployments: appslisters.NewDeploymentLister(deployments.GetIndexer())}
	c.runtime = controllerruntime.NewControllerRuntime[*Foo, none, none, none, none, none, none, none, none](
		"foos", Kind, kube, foos, []cache.SharedIndexInformer{deployments}, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil,
		10*time.Minute)
	c.runtime.SetCustomController(c)

	return c
}

// Run runs the controller until stopCh is closed.
func (c *Controller) Run(threadiness int, stopCh <-chan struct{}, errCh chan<- error) {
	c.runtime.Run(threadiness, stopCh, errCh)
}

// SyncHandler creates, updates or deletes the Deployment of a Foo.
func (c *Controller) SyncHandler(key string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()

	foo, err := c.foos.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return c.remove(ctx, key)
	}
	if err != nil {
		return err
	}
	d, err := c.deployments.Deployments(c.namespace).Get(foo.Spec.DeploymentName)
	switch {
	case resource.IsNotFound(err):
		d, err = c.kube.AppsV1().Deployments(c.namespace).Create(ctx, c.deployment(foo), metav1.CreateOptions{})
	case err != nil:
	case !c.owns(d, key):
		return c.refuse(ctx, foo)
	default:
		d, err = c.update(ctx, d, foo)
	}
	if err != nil {
		return err
	}
	foo.Status = Status{AvailableReplicas: d.Status.AvailableReplicas}
	_, err = c.foos.UpdateStatus(ctx, foo)

	return err
}

// update sets the replicas and the owner marks of a Deployment. The marks change when the Foo has moved to another
// store, or if their writer did not know the store.
func (c *Controller) update(ctx context.Context, d *appsv1.Deployment, foo *Foo) (*appsv1.Deployment, error) {
	want := d.DeepCopy()
	want.Spec.Replicas = &foo.Spec.Replicas
	c.runtime.SetOwner(want, foo)
	if equality.Semantic.DeepEqual(d, want) {
		return d, nil
	}

	return c.kube.AppsV1().Deployments(c.namespace).Update(ctx, want, metav1.UpdateOptions{})
}

// refuse reports in the status and by an event that the name is taken. That is no error, because a retry does not help.
func (c *Controller) refuse(ctx context.Context, foo *Foo) error {
	problem := fmt.Sprintf(controllerruntime.MessageErrResourceExists, foo.Spec.DeploymentName)
	if foo.Status.Problem == problem {
		return nil
	}
	c.runtime.Event(c.runtime.Reference(foo.Metadata.Key), corev1.EventTypeWarning,
		controllerruntime.ReasonErrResourceExists, problem)
	foo.Status.Problem = problem
	_, err := c.foos.UpdateStatus(ctx, foo)

	return err
}

// remove deletes the deployments of a Foo that is gone.
func (c *Controller) remove(ctx context.Context, key string) error {
	made, err := c.deployments.Deployments(c.namespace).List(controllerruntime.OwnerSelector(Kind, key))
	if err != nil {
		return err
	}
	for _, d := range made {
		err := c.kube.AppsV1().Deployments(c.namespace).Delete(ctx, d.Name,
			metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &d.UID}})
		if err != nil && !resource.IsNotFound(err) {
			return err
		}
	}

	return nil
}

func (c *Controller) owns(d *appsv1.Deployment, key string) bool {
	_, owner, err := c.runtime.DecomposeKubeSecondaryResource(d)

	return err == nil && owner == key
}

func (c *Controller) deployment(foo *Foo) *appsv1.Deployment {
	labels := map[string]string{"app": "nginx", "controller": foo.Spec.DeploymentName}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: foo.Spec.DeploymentName, Namespace: c.namespace},
		Spec: appsv1.DeploymentSpec{
			Replicas: &foo.Spec.Replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "nginx", Image: "nginx:latest"}}},
			},
		},
	}
	c.runtime.SetOwner(d, foo)

	return d
}

// HandleSecondary asks for a pass over the Foo of a Deployment.
func (c *Controller) HandleSecondary(obj any) {
	if _, key, err := c.runtime.DecomposeKubeSecondaryResource(obj); err == nil && key != "" {
		c.runtime.EnqueueKey(key, controllerruntime.OperationSecondary)
	}
}

// GarbageSecondaries asks for a pass over each Foo that has a Deployment: one that
// is gone is dealt with there.
func (c *Controller) GarbageSecondaries() {
	made, err := c.deployments.Deployments(c.namespace).List(controllerruntime.OwnerSelector(Kind, ""))
	if err != nil {
		return
	}
	for _, d := range made {
		c.HandleSecondary(d)
	}
}

// Clean has nothing to do.
func (c *Controller) Clean() {}
