package apisurface

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/moorage-dev/moorage/pkg/store"
	"github.com/moorage-dev/moorage/pkg/storecontroller/controllerruntime"
)

// A program that uses every name of controllerruntime.golden, as a controller would. If it does not compile, neither
// does such a controller.

type deployment struct {
	Metadata store.Metadata `json:"metadata"`
}

func (d *deployment) GetMetadata() *store.Metadata { return &d.Metadata }

type none = controllerruntime.None

type deploymentController struct {
	rt *controllerruntime.ControllerRuntime[*deployment, *deployment, none, none, none, *deployment, none, none, none]
}

var _ controllerruntime.IController = &deploymentController{}

func newDeploymentController(kube kubernetes.Interface,
	deployments, links, domains controllerruntime.IEntityClient[*deployment],
	made, read []cache.SharedIndexInformer, dns controllerruntime.IExternalClient,
) *deploymentController {
	c := &deploymentController{}
	c.rt = controllerruntime.NewControllerRuntime[
		*deployment, *deployment, none, none, none, *deployment, none, none, none,
	](
		"deployments", "deployment", kube, deployments, made, read, links, nil, nil, nil, domains, nil, nil, nil,
		[]controllerruntime.IExternalClient{dns}, 5*time.Minute)
	c.rt.SetCustomController(c)
	return c
}

func (c *deploymentController) Run(threadiness int, stopCh <-chan struct{}, errCh chan<- error) {
	c.rt.Run(threadiness, stopCh, errCh)
}

func (c *deploymentController) SyncHandler(key string) error {
	c.rt.EnqueueKeyAfter(key, controllerruntime.OperationPut, time.Minute)
	return nil
}

func (c *deploymentController) HandleSecondary(obj any) {
	var object metav1.Object
	object, key, err := c.rt.DecomposeKubeSecondaryResource(obj)
	if err != nil {
		return
	}
	c.rt.EnqueueKey(key, controllerruntime.OperationSecondary)
	if o, ok := object.(runtime.Object); ok {
		c.rt.Event(o, "Normal", controllerruntime.ReasonResourceSynced, controllerruntime.MessageResourceSyncedUpdated)
	}
}

func (c *deploymentController) GarbageSecondaries() {}
func (c *deploymentController) Clean()              {}

var (
	_ = newDeploymentController
	_ = []controllerruntime.Operation{controllerruntime.OperationDelete, controllerruntime.OperationPurge}
	_ = []string{
		controllerruntime.ReasonErrResourceExists, controllerruntime.MessageErrResourceExists,
		controllerruntime.MessageResourceSyncedCreated, controllerruntime.MessageResourceSyncedDeleted,
		controllerruntime.OwnerKeyLabel, controllerruntime.OwnerkindLabel, controllerruntime.OwnerKeyAnnotation,
		controllerruntime.OwnerkindAnnotation,
	}
)
