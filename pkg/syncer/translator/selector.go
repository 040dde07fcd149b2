package translator

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/translate"
)

// DefaultPhysicalName is the PhysicalNameTranslator of namespaced objects under the
// package's default names. Without the object, whose namespace it needs, the name is
// empty.
func DefaultPhysicalName(vName string, vObj client.Object) string {
	if vObj == nil {
		return ""
	}
	return translate.PhysicalName(vName, vObj.GetNamespace())
}

// ObjectPhysicalName returns the host name of an object under the package's default
// names, or "" for what is no object.
func ObjectPhysicalName(obj runtime.Object) string {
	o, err := meta.Accessor(obj)
	if err != nil {
		return ""
	}
	return translate.PhysicalName(o.GetName(), o.GetNamespace())
}

// ConvertLabelKey returns the key under which a label is stored on the host.
func ConvertLabelKey(key string) string {
	return ConvertLabelKeyWithPrefix(translate.LabelPrefix, key)
}

// ConvertLabelKeyWithPrefix does so with another prefix than translate.LabelPrefix.
func ConvertLabelKeyWithPrefix(prefix, key string) string {
	return translate.Default().ConvertLabelKeyWithPrefix(prefix, key)
}

// TranslateLabelSelector returns the selector that selects on the host what the
// given one selects in the virtual cluster: its keys are converted. To select in
// one virtual namespace only, add translate.NamespaceLabel. Nil stays nil.
func TranslateLabelSelector(labelSelector *metav1.LabelSelector) *metav1.LabelSelector {
	return TranslateLabelSelectorWithPrefix(translate.LabelPrefix, labelSelector)
}

// TranslateLabelSelectorWithPrefix does so with another prefix than
// translate.LabelPrefix.
func TranslateLabelSelectorWithPrefix(labelPrefix string, labelSelector *metav1.LabelSelector) *metav1.LabelSelector {
	return convert(labelSelector, func(key string) string { return ConvertLabelKeyWithPrefix(labelPrefix, key) })
}

// TranslateLabelSelectorCluster does so for cluster-scoped objects: it selects only
// those of this virtual cluster, whose namespace on the host is given.
func TranslateLabelSelectorCluster(physicalNamespace string, labelSelector *metav1.LabelSelector) *metav1.LabelSelector {
	if labelSelector == nil {
		return nil
	}
	return MergeLabelSelectors(TranslateLabelSelector(labelSelector), &metav1.LabelSelector{
		MatchLabels: map[string]string{translate.MarkerLabel: translate.Default().ClusterMarker(physicalNamespace)},
	})
}

func convert(s *metav1.LabelSelector, key func(string) string) *metav1.LabelSelector {
	if s == nil {
		return nil
	}
	out := &metav1.LabelSelector{}
	for k, v := range s.MatchLabels {
		if out.MatchLabels == nil {
			out.MatchLabels = map[string]string{}
		}
		out.MatchLabels[key(k)] = v
	}
	for _, e := range s.MatchExpressions {
		e = *e.DeepCopy()
		e.Key = key(e.Key)
		out.MatchExpressions = append(out.MatchExpressions, e)
	}
	return out
}

// MergeLabelSelectors returns a selector that selects what every one of them does.
// Nil ones count for nothing. If two want different values of one label, nothing
// can be selected; it is said as an expression that contradicts the other.
func MergeLabelSelectors(elems ...*metav1.LabelSelector) *metav1.LabelSelector {
	out := &metav1.LabelSelector{}
	for _, s := range elems {
		if s == nil {
			continue
		}
		for k, v := range s.MatchLabels {
			if out.MatchLabels == nil {
				out.MatchLabels = map[string]string{}
			}
			if old, taken := out.MatchLabels[k]; taken && old != v {
				out.MatchExpressions = append(out.MatchExpressions, metav1.LabelSelectorRequirement{
					Key: k, Operator: metav1.LabelSelectorOpIn, Values: []string{v},
				})
				continue
			}
			out.MatchLabels[k] = v
		}
		for _, e := range s.MatchExpressions {
			out.MatchExpressions = append(out.MatchExpressions, *e.DeepCopy())
		}
	}
	return out
}

// UniqueSlice returns the elements in their order, each once. The slice that is
// given stays as it is.
func UniqueSlice(stringSlice []string) []string {
	seen := make(map[string]bool, len(stringSlice))
	out := make([]string, 0, len(stringSlice))
	for _, s := range stringSlice {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

// Split returns what is before and after the first separator. Without one, the
// first result is the whole.
func Split(s, sep string) (before, after string) {
	before, after, _ = strings.Cut(s, sep)
	return before, after
}
