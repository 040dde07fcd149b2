package apiserver

import (
	"context"
	"strings"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/apicore"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// A subresource is a client of the status of objects.
type subresource struct {
	client *Client
	name   string
}

func (s *subresource) Get(context.Context, client.Object, client.Object, ...client.SubResourceGetOption) error {
	return errors.New("the simulated server has no subresource that is an object of its own")
}

func (s *subresource) Create(context.Context, client.Object, client.Object, ...client.SubResourceCreateOption) error {
	return errors.New("the simulated server has no subresource that is an object of its own")
}

func (s *subresource) Update(ctx context.Context, o client.Object, _ ...client.SubResourceUpdateOption) error {
	return s.client.update(ctx, s.name, o)
}

func (s *subresource) Patch(ctx context.Context, o client.Object, patch client.Patch,
	opts ...client.SubResourcePatchOption) error {
	options := &client.SubResourcePatchOptions{}
	options.ApplyOptions(opts)

	return s.client.patch(ctx, s.name, o, patch, &options.PatchOptions)
}

func (s *subresource) Apply(context.Context, runtime.ApplyConfiguration, ...client.SubResourceApplyOption) error {
	return s.client.Apply(context.Background(), nil)
}

// apply performs a server-side apply. It creates the object if it does not exist.
func (s *Server) apply(k *kind, key types.NamespacedName, data []byte, by manager, force bool) (*version, error) {
	config, err := decodeJSON(data)
	if err != nil {
		return nil, err
	}
	given := apicore.Metadata(config)
	if by.sub != "" {
		status, ok := config["status"].(map[string]any)
		if config = map[string]any{}; ok {
			config["status"] = status
		}
	} else if k.HasStatus {
		delete(config, "status")
	}
	old := s.objects[id{k.GVK, key}]
	if old == nil {
		return s.applyNew(k, key, config, by)
	}
	image, owned, err := applied(old.image, old.owners(), by, config, force)
	if err != nil {
		return nil, err
	}
	image = apicore.WithMetadata(image)
	for _, key := range []string{"resourceVersion", "uid"} {
		if value, ok := given[key]; ok {
			apicore.Metadata(image)[key] = value
		}
	}
	if path := owned.emptied(old.image, image); path != "" && by.current(given, old) {
		return nil, k.Invalid(key.Name, field.TypeInvalid(field.NewPath(path), nil, "must be of type object: \"null\""))
	}
	v, err := s.write(old, key, image, by)
	if err != nil {
		return nil, err
	}
	if v == old { // others may have it with other owners
		v = &version{kind: v.kind, image: v.image, typed: v.typed, by: v.by, before: v.before}
		s.unshared()[id{k.GVK, key}] = v
	}
	v.owned.Store(&owned)

	return v, nil
}

// applyNew creates the applied object, which does not exist yet.
func (s *Server) applyNew(k *kind, key types.NamespacedName, config map[string]any, by manager) (*version, error) {
	if by.sub != "" {
		_, err := s.get(k, key)

		return nil, err
	}
	m := apicore.Metadata(config)
	if uid := m["uid"]; uid != nil {
		return nil, kerrors.NewConflict(k.Resource, key.Name, errors.Errorf(
			"uid mismatch: the provided object specified uid %v, and no existing object was found", uid))
	}
	delete(m, "resourceVersion")

	v, err := s.create(k, key, config, by)
	if err == nil {
		v.owned.Store(&owners{by: setOf(asked(config))})
	}

	return v, err
}

// emptied returns the path of an owned map outside the metadata whose content was removed completely, or "". A real
// server sets such a map to null, which no schema allows.
func (o owners) emptied(before, after map[string]any) string {
	for path, value := range pathsOf(after) {
		_, holds := value.(holder)
		if holds && !strings.HasPrefix(path, "metadata\x00") && o.owned(path) && full(before, path) && !full(after, path) {
			return strings.ReplaceAll(path, "\x00", ".")
		}
	}

	return ""
}

// current returns whether the given resourceVersion and UID, as far as they are set, are those of the version. A
// subresource ignores the UID.
func (m manager) current(given map[string]any, v *version) bool {
	for _, key := range []string{"resourceVersion", "uid"} {
		if value, ok := given[key]; ok && value != apicore.Metadata(v.image)[key] && (key != "uid" || m.sub == "") {
			return false
		}
	}

	return true
}
