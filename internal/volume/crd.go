package volume

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type (
	props      = apiextensionsv1.JSONSchemaProps
	properties = map[string]apiextensionsv1.JSONSchemaProps
)

var (
	text   = props{Type: "string"}
	number = props{Type: "integer", Format: "int64"}
)

// CRD returns the definition of Volume.
func CRD() *apiextensionsv1.CustomResourceDefinition {
	return crd("Volume", "volume", object(properties{
		"spec": object(properties{
			"sizeGiB": number, "tier": text,
			"writeConnectionSecretToRef": object(properties{"name": text}),
		}),
		"status": object(properties{"conditions": conditions(), "id": text, "sizeGiB": number, "usedBytes": number}),
	}))
}

// SnapshotCRD returns the definition of Snapshot.
func SnapshotCRD() *apiextensionsv1.CustomResourceDefinition {
	texts := props{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: new(text)}}
	texts.Default = &apiextensionsv1.JSON{Raw: []byte(`["*"]`)}
	policy := object(properties{"resolve": text, "resolution": text})
	labels := props{
		Type:                 "object",
		AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: new(text)},
	}

	return crd("Snapshot", "snapshot", object(properties{
		"spec": object(properties{
			"sizeGiB": number, "tier": text, "volume": text, "managementPolicies": texts, "deletionPolicy": text,
			"waitForVolume": {Type: "boolean"},
			"volumeRef":     object(properties{"name": text, "namespace": text, "policy": policy}),
			"volumeSelector": object(properties{
				"matchLabels": labels, "matchControllerRef": {Type: "boolean"}, "namespace": text,
				"policy": policy,
			}),
			"writeConnectionSecretToRef": object(properties{"name": text}),
			"providerConfigRef":          object(properties{"kind": text, "name": text}),
		}),
		"status": object(properties{
			"conditions": conditions(), "id": text,
			"observedGeneration": number, "lastHandledReconcileAt": text, "connectionDetailsHash": text,
		}),
	}))
}

// ProviderConfigCRD returns the definition of ProviderConfig.
func ProviderConfigCRD() *apiextensionsv1.CustomResourceDefinition {
	return crd("ProviderConfig", "providerconfig", object(properties{
		"status": object(properties{"conditions": conditions(), "users": number}),
	}))
}

func object(p properties) props { return props{Type: "object", Properties: p} }

func conditions() props {
	condition := object(properties{
		"type": text, "status": text, "reason": text, "message": text,
		"lastTransitionTime": {Type: "string", Format: "date-time"}, "observedGeneration": number,
	})
	condition.Required = []string{"type"}

	return props{
		Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &condition},
		XListType: new("map"), XListMapKeys: []string{"type"},
	}
}

func crd(kind, singular string, root props) *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: singular + "s." + GroupVersion.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: GroupVersion.Group,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Kind: kind, ListKind: kind + "List", Plural: singular + "s", Singular: singular,
			},
			Scope: apiextensionsv1.NamespaceScoped,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: GroupVersion.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &root},
				Subresources: &apiextensionsv1.CustomResourceSubresources{
					Status: &apiextensionsv1.CustomResourceSubresourceStatus{},
				},
			}},
		},
	}
}
