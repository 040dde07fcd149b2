package translator

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/translate"
)

// DefaultPhysicalName is the PhysicalNameTranslator for namespaced objects that uses translate.Default(). It returns ""
// if the argument vObj is nil, because it needs the namespace of the virtual object.
func DefaultPhysicalName(vName string, vObj client.Object) string {
	if vObj == nil {
		return ""
	}
	return translate.PhysicalName(vName, vObj.GetNamespace())
}

// ObjectPhysicalName returns the host name of an object. It uses translate.Default(). It returns ""
// if obj has no metadata.
func ObjectPhysicalName(obj runtime.Object) string {
	o, err := meta.Accessor(obj)
	if err != nil {
		return ""
	}
	return translate.PhysicalName(o.GetName(), o.GetNamespace())
}

// ConvertLabelKey returns the key that a label of a virtual object has on the host. It uses
// translate.LabelPrefix.
func ConvertLabelKey(key string) string {
	return ConvertLabelKeyWithPrefix(translate.LabelPrefix, key)
}

// ConvertLabelKeyWithPrefix is ConvertLabelKey with the given prefix instead of
// translate.LabelPrefix.
func ConvertLabelKeyWithPrefix(prefix, key string) string {
	return translate.Default().ConvertLabelKeyWithPrefix(prefix, key)
}

// TranslateLabelSelector converts a selector for virtual objects to a selector for their host
// objects, by converting its label keys. It returns nil for nil. To select objects of one virtual
// namespace only, add translate.NamespaceLabel.
func TranslateLabelSelector(labelSelector *metav1.LabelSelector) *metav1.LabelSelector {
	return TranslateLabelSelectorWithPrefix(translate.LabelPrefix, labelSelector)
}

// TranslateLabelSelectorWithPrefix is TranslateLabelSelector with the given prefix instead of
// translate.LabelPrefix.
func TranslateLabelSelectorWithPrefix(labelPrefix string, labelSelector *metav1.LabelSelector) *metav1.LabelSelector {
	return convertSelector(labelSelector, func(key string) string { return ConvertLabelKeyWithPrefix(labelPrefix, key) })
}

// TranslateLabelSelectorCluster is TranslateLabelSelector for cluster-scoped objects. The selector matches only host
// objects of the default virtual cluster (translate.Suffix) whose host namespace is the argument physicalNamespace.
func TranslateLabelSelectorCluster(
	physicalNamespace string, labelSelector *metav1.LabelSelector,
) *metav1.LabelSelector {
	if labelSelector == nil {
		return nil
	}
	return MergeLabelSelectors(TranslateLabelSelector(labelSelector), &metav1.LabelSelector{
		MatchLabels: map[string]string{translate.MarkerLabel: translate.Default().ClusterMarker(physicalNamespace)},
	})
}

// convertSelector converts the keys of a selector.
func convertSelector(s *metav1.LabelSelector, key func(string) string) *metav1.LabelSelector {
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

// MergeLabelSelectors returns a selector that matches an object if all given selectors match it. It
// ignores nil selectors. If two selectors require different values of one label, the result matches
// nothing.
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

// UniqueSlice returns the distinct elements in the order in which they first occur. It does not
// change the argument.
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

// Split returns the text before and after the first separator. Without a separator,
// before is the whole text.
func Split(s, sep string) (before, after string) {
	before, after, _ = strings.Cut(s, sep)
	return before, after
}
