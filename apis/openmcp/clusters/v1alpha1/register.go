package v1alpha1

import (
	"embed"
	"io/fs"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion of the kinds in this package. It must not be changed.
var GroupVersion = schema.GroupVersion{Group: "clusters.openmcp.cloud", Version: "v1alpha1"}

// AddToScheme registers the kinds of this package in a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &AccessRequest{}, &AccessRequestList{}, &ClusterRequest{}, &ClusterRequestList{},
		&Cluster{}, &ClusterList{})
	metav1.AddToGroupVersion(s, GroupVersion)

	return nil
}

//go:embed package/crds/*.yaml
var crds embed.FS

// CRDs returns the YAML files with the CustomResourceDefinitions of the kinds. They are for tests and demos without a
// platform.
func CRDs() fs.FS { return crds }
