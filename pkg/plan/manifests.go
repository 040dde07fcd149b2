package plan

import (
	"bufio"
	"bytes"
	"context"
	stderrors "errors"
	"fmt"
	"io"
	"os"
	"strings"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

const (
	// maxManifest is the size of the largest manifest: the API server stores no object that is larger.
	maxManifest = 3 << 19 // 1.5 MiB

	// maxFile is the size of the largest file.
	maxFile = 64 << 20
)

// A manifest is a document of a file.
type manifest struct {
	*unstructured.Unstructured

	where string // the file, and the number of the document
}

// readFiles returns the manifests of files.
func readFiles(files []string) (all []manifest, err error) {
	for _, file := range files {
		read, err := readFile(file)
		if err != nil {
			return nil, err
		}
		all = append(all, read...)
	}
	if len(files) > 0 && len(all) == 0 {
		return nil, errors.Errorf("%s: there is no manifest in it", files[0])
	}

	return all, nil
}

func readFile(file string) ([]manifest, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, errors.Wrap(err, "cannot read manifests: name another file by -f")
	}
	defer func() { _ = f.Close() }() // it is only read
	if info, err := f.Stat(); err != nil || info.IsDir() {
		return nil, errors.Errorf("cannot read manifests: %s is a folder: name its files by -f", file)
	}

	return read(file, io.LimitReader(f, maxFile+1))
}

// read returns the manifests of a stream of documents. A document that is a list has one for each item.
func read(file string, from io.Reader) (all []manifest, err error) {
	data, err := io.ReadAll(from)
	switch {
	case err != nil:
		return nil, errors.Wrapf(err, "cannot read %s", file)
	case len(data) > maxFile:
		return nil, errors.Errorf("%s has more than %d MiB: split it", file, maxFile>>20)
	}
	documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for number := 1; ; number++ {
		document, err := documents.Read()
		if stderrors.Is(err, io.EOF) {
			return all, nil
		}
		where := fmt.Sprintf("%s, document %d", file, number)
		if err != nil {
			return nil, errors.Wrapf(err, "cannot read %s", where)
		}
		of, err := decode(where, document)
		if err != nil {
			return nil, err
		}
		all = append(all, of...)
	}
}

// decode returns the manifests of a document.
func decode(where string, document []byte) (all []manifest, err error) {
	if len(document) > maxManifest {
		return nil, errors.Errorf("%s has %d bytes, and the API server stores at most %d", where, len(document), maxManifest)
	}
	data, err := yaml.ToJSON(document)
	if err != nil {
		return nil, errors.Wrapf(err, "cannot read %s", where)
	}
	if s := string(bytes.TrimSpace(data)); s == "null" || s == "" {
		return nil, nil // only comments
	}
	object, _, err := unstructured.UnstructuredJSONScheme.Decode(data, nil, nil)
	if err != nil {
		return nil, errors.Wrapf(err, "cannot read %s: it has to be a manifest with apiVersion and kind", where)
	}
	switch o := object.(type) {
	case *unstructured.UnstructuredList:
		for i := range o.Items {
			all = append(all, manifest{&o.Items[i], fmt.Sprintf("%s, item %d", where, i+1)})
		}
	case *unstructured.Unstructured:
		all = append(all, manifest{o, where})
	}

	return all, nil
}

// A named is what identifies an object.
type named struct {
	kind schema.GroupKind
	key  types.NamespacedName
}

// apply returns the options to plan the objects that the manifests would lead to, and notes which the API server has
// not validated. Without files there is no option.
func (r *report) apply(ctx context.Context, p *managed.Planner, manifests []manifest,
	f flags) (o []managed.PlanOption, err error) {
	if len(f.files) == 0 {
		return nil, nil
	}
	var objects []resource.Managed
	if f.namespace, err = f.defaultNamespace(); err != nil {
		return nil, err
	}
	r.how = f.how
	seen := map[named]string{}
	for _, m := range manifests {
		if err := r.place(p, m, f); err != nil {
			return nil, err
		}
		of := named{m.GroupVersionKind().GroupKind(), types.NamespacedName{Namespace: m.GetNamespace(), Name: m.GetName()}}
		if first, twice := seen[of]; twice {
			return nil, errors.Errorf("%s: %s %s is in %s, too: keep one of them", m.where, m.GetKind(), of.key.String(), first)
		}
		seen[of] = m.where
		mg, validated, err := p.Applied(ctx, m.Unstructured, f.how)
		switch {
		case kerrors.IsConflict(err):
			r.add(managed.Plan{Kind: m.GroupVersionKind(), Object: of.key, Err: conflict(err)})

			continue
		case err != nil:
			return nil, errors.Wrap(err, m.where)
		case !validated:
			r.unvalidated++
		}
		objects = append(objects, mg)
	}

	return []managed.PlanOption{managed.WithPlannedObjects(objects...)}, nil
}

// conflict returns an error with each field of a manifest that another field manager has set.
func conflict(err error) error {
	var status kerrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return err
	}
	var fields []string
	for _, cause := range status.Status().Details.Causes {
		if cause.Type == metav1.CauseTypeFieldManagerConflict {
			fields = append(fields, strings.TrimPrefix(cause.Field, ".")+" ("+cause.Message+")")
		}
	}
	if len(fields) == 0 {
		return err
	}

	return errors.Errorf("other field managers have set fields of the file to other values: %s: remove these fields "+
		"from the file, or take them over by --force-conflicts", strings.Join(fields, ", "))
}

// defaultNamespace returns the namespace of manifests that have none: that of the flag, or as for kubectl that of the
// context of the kubeconfig or of the pod, or "default".
func (f flags) defaultNamespace() (string, error) {
	if f.namespace != "" {
		return f.namespace, nil
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	of := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{})
	namespace, _, err := of.Namespace()

	return namespace, errors.Wrap(err, "cannot read the namespace of the kubeconfig: give it by --namespace")
}

// place sets the namespace of a manifest that has none, and checks what identifies its object.
func (r *report) place(p *managed.Planner, m manifest, f flags) error {
	for _, kind := range p.Kinds() {
		if kind != m.GroupVersionKind() {
			continue
		}
		if m.GetName() == "" {
			return errors.Errorf("%s has no metadata.name", m.where)
		}
		namespaced, err := p.Manager().GetClient().IsObjectNamespaced(m.Unstructured)
		if err != nil {
			return errors.Wrapf(err, "%s: cannot tell whether the kind %s has a namespace: install its "+
				"CustomResourceDefinition", m.where, kind.Kind)
		}
		if namespaced && m.GetNamespace() == "" {
			m.SetNamespace(f.namespace)
		}

		return nil
	}

	return errors.Errorf("%s: this provider has no kind %s of %s: it plans %s", m.where, m.GetKind(), m.GetAPIVersion(),
		kindNames(p))
}
