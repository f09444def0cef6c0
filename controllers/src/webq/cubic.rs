//! The curve through power ratios (algorithm 1, lines 8 and 11).

use super::ScaledPoint;

/// A polynomial of degree 3, and the range of loads that it was fitted in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cubic {
    /// Coefficients of 1, t, t² and t³, where t runs from −1 to 1 over the range: powers of the load itself would differ
    /// by many orders of magnitude.
    coefficients: [f64; 4],
    /// The least and the greatest load.
    range: (f64, f64),
}

impl Cubic {
    /// Fits by least squares; `None` for fewer than four loads that differ.
    #[must_use]
    pub fn fit(points: &[ScaledPoint]) -> Option<Self> {
        let loads = points.iter().map(|point| point.load);
        let range = loads.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        let mut fitted = Self { coefficients: [0.0; 4], range };
        if points.len() < 4 || !(range.1 - range.0).is_normal() {
            return None;
        }
        // The normal equations: Σ t^(i + j) · a_j = Σ t^i · y.
        let mut rows = [[0.0; 5]; 4];
        for point in points {
            let t = fitted.position(point.load);
            let powers = [1.0, t, t * t, t * t * t];
            for (row, factor) in rows.iter_mut().zip(powers) {
                for (sum, power) in row.iter_mut().zip(powers) {
                    *sum += factor * power;
                }
                row[4] += factor * point.power;
            }
        }
        fitted.coefficients = solve(rows)?;
        Some(fitted)
    }

    /// The curve's power ratio at a load.
    #[must_use]
    pub fn at(&self, load: f64) -> f64 {
        let t = self.position(load);
        self.coefficients.iter().rev().fold(0.0, |sum, coefficient| sum * t + coefficient)
    }

    /// True if the curve was fitted to loads on both sides of this one, or to this one.
    #[must_use]
    pub fn covers(&self, load: f64) -> bool {
        (self.range.0..=self.range.1).contains(&load)
    }

    /// The load of the curve's maximum inside of the range; `None` if the curve is highest at an end of it: then the
    /// server was not seen on both sides of its capacity.
    #[must_use]
    pub fn peak(&self) -> Option<f64> {
        let [_, b, c, d] = self.coefficients;
        // The derivative b + 2c·t + 3d·t², in a form without cancellation or division by a small d.
        let root = libm::sqrt(Some(c * c - 3.0 * b * d).filter(|inside| *inside >= 0.0)?);
        let q = -(c + root.copysign(c));
        let roots = [q / (3.0 * d), b / q];
        let (low, high) = self.range;
        let loads = roots.into_iter().filter(|t| t.abs() < 1.0).map(|t| low + (t + 1.0) / 2.0 * (high - low));
        let peak = loads.max_by(|x, y| self.at(*x).total_cmp(&self.at(*y)))?;
        (self.at(peak) >= self.at(low) && self.at(peak) >= self.at(high)).then_some(peak)
    }

    /// The sum of squared distances of points from the curve.
    #[must_use]
    pub fn squared_error(&self, points: &[ScaledPoint]) -> f64 {
        points.iter().map(|point| point.power - self.at(point.load)).map(|distance| distance * distance).sum()
    }

    fn position(&self, load: f64) -> f64 {
        (load - self.range.0) / (self.range.1 - self.range.0) * 2.0 - 1.0
    }
}

/// Gauss elimination with pivots; `None` if the rows do not determine a solution.
fn solve(mut rows: [[f64; 5]; 4]) -> Option<[f64; 4]> {
    for column in 0..4 {
        let pivot = (column..4).max_by(|i, j| rows[*i][column].abs().total_cmp(&rows[*j][column].abs()))?;
        rows.swap(column, pivot);
        let top = rows[column];
        // Diagonal elements are of the order of the number of points.
        if top[column].abs() < 1e-9 || !top[column].is_finite() {
            return None;
        }
        for row in rows.iter_mut().skip(column + 1) {
            let factor = row[column] / top[column];
            for (element, above) in row.iter_mut().zip(top) {
                *element -= factor * above;
            }
        }
    }
    let mut solution = [0.0; 4];
    for i in (0..4).rev() {
        let known: f64 = (i + 1..4).map(|j| rows[i][j] * solution[j]).sum();
        solution[i] = (rows[i][4] - known) / rows[i][i];
    }
    Some(solution)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn curve(loads: impl IntoIterator<Item = f64>, power: impl Fn(f64) -> f64) -> Vec<ScaledPoint> {
        loads.into_iter().map(|load| ScaledPoint { load, power: power(load) }).collect()
    }

    fn tens() -> impl Iterator<Item = f64> {
        (1..=12).map(|n| f64::from(n) * 10.0)
    }

    #[test]
    fn the_maximum_is_where_the_derivative_is_0() {
        // y = x²·(150 − x), dy/dx = 300·x − 3·x²: 0 at 100. The released code takes −a2/(2·a1) of the coefficients
        // a1 = −1 and a2 = 150, which is 75: a vertex of a parabola that is not there.
        let points = curve(tens(), |x| x * x * (150.0 - x));
        let cubic = Cubic::fit(&points).expect("twelve points");
        assert!((cubic.peak().expect("a maximum inside") - 100.0).abs() < 1e-6);
        assert!(cubic.squared_error(&points) < 1e-6);
        // A parabola is a cubic too: y = x·(160 − x) is highest at 80.
        let parabola = Cubic::fit(&curve(tens(), |x| x * (160.0 - x))).expect("twelve points");
        assert!((parabola.peak().expect("a maximum inside") - 80.0).abs() < 1e-6);
    }

    #[test]
    fn a_maximum_at_the_end_of_the_range_is_none() {
        assert_eq!(Cubic::fit(&curve(tens(), |x| x)).expect("a line").peak(), None);
        // Highest at 250, but seen only up to 120.
        assert_eq!(Cubic::fit(&curve(tens(), |x| x * (500.0 - x))).expect("a parabola").peak(), None);
        // A local maximum at 30 (dy/dx = (x − 30)·(x − 60)), but the curve goes on to rise over it.
        let rising = curve(tens(), |x| x * x * x / 3.0 - 45.0 * x * x + 1800.0 * x);
        assert_eq!(Cubic::fit(&rising).expect("a cubic").peak(), None);
    }

    #[test]
    fn too_few_loads_are_no_curve() {
        assert_eq!(Cubic::fit(&curve([1.0, 2.0, 3.0], |x| x)), None);
        assert_eq!(Cubic::fit(&curve([5.0; 9], |x| x)), None);
        assert_eq!(Cubic::fit(&curve([1.0, 1.0, 2.0, 2.0, 3.0, 3.0], |x| x)), None);
    }

    proptest! {
        #[test]
        fn a_cubic_is_found_again(a in prop::array::uniform4(-100.0..100.0_f64), low in 0.1..1e4_f64, wide in 1.0..1e4_f64) {
            let of = |t: f64| a[0] + t * (a[1] + t * (a[2] + t * a[3]));
            let loads = (0..=10).map(|n| low + wide * f64::from(n) / 10.0);
            let points = curve(loads, |x| of((x - low) / wide * 2.0 - 1.0));
            let cubic = Cubic::fit(&points).expect("eleven loads");
            prop_assert!(cubic.squared_error(&points) < 1e-6);
        }
    }
}
