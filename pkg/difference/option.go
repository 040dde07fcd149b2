package difference

import (
	"github.com/moorage-dev/moorage/pkg/errors"
)

// An Option changes how Between compares some fields. If it is not valid, Between returns an error. Options of several
// kinds may name the same path. An Option may be used in several calls, also concurrently.
type Option func(*rules) error

// Set compares these lists as sets: the order of the elements, and how often an element occurs, are irrelevant.
// Elements that are objects are equal only if all of their fields are equal, also the fields that desired does not set.
// For elements with a key, use Keyed.
func Set(paths ...string) Option {
	return atEach(paths, func(r *rule) error {
		r.set = true
		return r.check()
	})
}

// Keyed compares the elements of a list of objects by key, as Kubernetes does for lists of the type map. The arguments
// keys are the fields that form the key. Elements with the same key are compared with each other, and the order is
// irrelevant. A missing or additional element is a difference of the whole list. If a key is missing or not unique, the
// elements are compared by position.
func Keyed(path string, keys ...string) Option {
	return at(path, func(r *rule) error {
		if len(keys) == 0 {
			return errors.New("Keyed needs a field that identifies an element, such as name")
		}
		r.keys = append([]string(nil), keys...)
		return r.check()
	})
}

// Ignore excludes these fields, and everything in them, from the comparison.
func Ignore(paths ...string) Option {
	return atEach(paths, func(r *rule) error {
		r.ignore = true
		return nil
	})
}

// Sensitive marks these fields, and everything in them, as secret. Their differences are reported without the values. A
// field whose name is that of a secret, such as password or clientSecret, is sensitive without this option.
func Sensitive(paths ...string) Option {
	return atEach(paths, func(r *rule) error {
		r.sensitive = true
		return nil
	})
}

// Immutable marks these fields, and everything in them, as fields that an update cannot change.
func Immutable(paths ...string) Option {
	return atEach(paths, func(r *rule) error {
		r.immutable = true
		return nil
	})
}

// Default compares with the value if observed does not have the field. It is for external systems that omit fields with
// their default value. The value has to be encodable to JSON. It has no effect on a field that desired does not set.
func Default(path string, value any) Option {
	return at(path, func(r *rule) error {
		image, err := decode(value)
		if err != nil {
			return errors.Wrap(err, "cannot use the default")
		}
		r.missing = image
		return nil
	})
}

// Equal compares a field with a function, such as SameQuantity. The function is called with the two values as JSON if
// both exist and are not equal already, and reports whether they mean the same. It must be symmetric, and must not
// retain its arguments if they are secret.
func Equal(path string, same func(desired, observed string) bool) Option {
	return at(path, func(r *rule) error {
		if same == nil {
			return errors.New("Equal needs a function")
		}
		r.same = same
		return nil
	})
}

// at returns an option that changes the rule of one path.
func at(path string, change func(*rule) error) Option {
	return func(all *rules) error {
		steps, err := parsePath(path)
		if err != nil {
			return err
		}
		return errors.Wrapf(change(all.rule(steps)), "invalid option for the path %s", encode(path))
	}
}

// atEach returns an option that changes the rules of several paths.
func atEach(paths []string, change func(*rule) error) Option {
	return func(all *rules) error {
		for _, path := range paths {
			if err := at(path, change)(all); err != nil {
				return err
			}
		}
		return nil
	}
}
