package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group is the API group of all kinds in this package, Version their version.
const (
	Group   = "nats.moorage.dev"
	Version = "v1alpha1"
)

// Kinds of this package that are managed resources.
const (
	StreamKind      = "Stream"
	KeyValueKind    = "KeyValue"
	ObjectStoreKind = "ObjectStore"
	ConsumerKind    = "Consumer"
)

// Kinds of this package that say how to connect.
const (
	ProviderConfigKind        = "ProviderConfig"
	ClusterProviderConfigKind = "ClusterProviderConfig"
)

// GroupVersion returns the group and version of this package.
func GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: Group, Version: Version}
}

// AddToScheme makes the kinds of this package known to s.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion(),
		&Stream{}, &StreamList{},
		&KeyValue{}, &KeyValueList{},
		&ObjectStore{}, &ObjectStoreList{},
		&Consumer{}, &ConsumerList{},
		&ProviderConfig{}, &ProviderConfigList{},
		&ClusterProviderConfig{}, &ClusterProviderConfigList{},
	)
	metav1.AddToGroupVersion(s, GroupVersion())

	return nil
}
