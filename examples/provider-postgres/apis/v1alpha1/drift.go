package v1alpha1

import (
	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
)

// GetDrift returns the recorded differences, or nil.
func (mg *Database) GetDrift() *commonv1.Drift { return mg.Status.GetDrift() }

// SetDrift records differences.
func (mg *Database) SetDrift(d *commonv1.Drift) { mg.Status.SetDrift(d) }

// GetDrift returns the recorded differences, or nil.
func (mg *Grant) GetDrift() *commonv1.Drift { return mg.Status.GetDrift() }

// SetDrift records differences.
func (mg *Grant) SetDrift(d *commonv1.Drift) { mg.Status.SetDrift(d) }

// GetDrift returns the recorded differences, or nil.
func (mg *Role) GetDrift() *commonv1.Drift { return mg.Status.GetDrift() }

// SetDrift records differences.
func (mg *Role) SetDrift(d *commonv1.Drift) { mg.Status.SetDrift(d) }

// GetDrift returns the recorded differences, or nil.
func (mg *Schema) GetDrift() *commonv1.Drift { return mg.Status.GetDrift() }

// SetDrift records differences.
func (mg *Schema) SetDrift(d *commonv1.Drift) { mg.Status.SetDrift(d) }
