package clusteraccess

import (
	"crypto/sha3"
	"encoding/hex"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/openmcp/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/serviceprovider"
)

// A Registration defines how the provider requests access to one cluster of each object. Exactly one of Request,
// ExistingRequest and ExistingCluster is required.
type Registration struct {
	// ID of the cluster, such as serviceprovider.ClusterMCP. It is part of the labels of the
	// requests.
	ID string

	// Suffix is the suffix of the names of the requests. The default is the ID.
	Suffix string

	// Request is the spec of a ClusterRequest that is created for each object, and deleted with the object.
	Request *clustersv1alpha1.ClusterRequestSpec

	// ExistingRequest returns the key of a ClusterRequest that belongs to another controller.
	ExistingRequest func(request reconcile.Request) client.ObjectKey

	// ExistingCluster returns the key of a cluster of the platform.
	ExistingCluster func(request reconcile.Request) client.ObjectKey

	// Token defines the permissions of the access.
	Token *clustersv1alpha1.TokenConfig

	// OIDC requests access by an identity provider instead of a token.
	OIDC *runtime.RawExtension

	// Namespace returns the namespace of the requests on the platform. The provider creates the namespace if it does not
	// exist. The default is StableNamespace.
	Namespace func(request reconcile.Request) string

	// Scheme is the scheme of the client. The default contains the built-in kinds of Kubernetes.
	Scheme *runtime.Scheme
}

// MCP returns the registration of the control plane of an object. The control plane is the cluster of the
// ClusterRequest that has the name of the object. This ClusterRequest is in the namespace of the object on the
// platform.
func MCP(scheme *runtime.Scheme, token *clustersv1alpha1.TokenConfig) Registration {
	return Registration{
		ID: serviceprovider.ClusterMCP, Token: token, Scheme: scheme,
		ExistingRequest: func(r reconcile.Request) client.ObjectKey {
			return client.ObjectKey{Namespace: StableNamespace(r), Name: r.Name}
		},
	}
}

// Workload returns a registration that requests a workload cluster for each object.
func Workload(scheme *runtime.Scheme, token *clustersv1alpha1.TokenConfig) Registration {
	return Registration{
		ID: serviceprovider.ClusterWorkload, Suffix: "wl", Token: token, Scheme: scheme,
		Request: &clustersv1alpha1.ClusterRequestSpec{Purpose: "workload"},
	}
}

// StableNamespace returns the namespace on the platform that belongs to an object of the onboarding cluster. The name
// of this namespace is mcp-- and a UUID of version 8, which is computed from the namespace and the name of the object.
func StableNamespace(r reconcile.Request) string {
	sum := sha3.SumSHAKE128([]byte(r.Namespace+"/"+r.Name), 16)
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80
	h := hex.EncodeToString(sum)

	return fmt.Sprintf("mcp--%s-%s-%s-%s-%s", h[:8], h[8:12], h[12:16], h[16:20], h[20:])
}

// validate returns an error for a registration that is incomplete or ambiguous.
func (r Registration) validate() error {
	ways := 0
	for _, way := range []bool{r.Request != nil, r.ExistingRequest != nil, r.ExistingCluster != nil} {
		if way {
			ways++
		}
	}
	switch {
	case r.ID == "":
		return errors.New("a registration has no ID")
	case ways != 1:
		return errors.Errorf(
			"registration %s needs exactly one of a request, an existing request and an existing cluster", r.ID)
	case r.Token == nil && r.OIDC == nil:
		return errors.Errorf("registration %s asks for nothing: token or OIDC is required", r.ID)
	default:
		return nil
	}
}

// suffix returns the suffix of the names of the requests.
func (r Registration) suffix() string {
	if r.Suffix != "" {
		return r.Suffix
	}

	return r.ID
}

// namespace returns the namespace of the requests of an object.
func (r Registration) namespace(request reconcile.Request) string {
	if r.Namespace != nil {
		return r.Namespace(request)
	}

	return StableNamespace(request)
}

// StableMCPNamespace is like StableNamespace, but takes a name and a namespace as arguments. It returns an error if
// both are empty.
func StableMCPNamespace(name, namespace string) (string, error) {
	if name == "" && namespace == "" {
		return "", errors.New("cannot compute the namespace of an object without a name")
	}

	return StableNamespace(reconcile.Request{NamespacedName: client.ObjectKey{Namespace: namespace, Name: name}}), nil
}
