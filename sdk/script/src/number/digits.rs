//! Natural numbers as decimal digits, the greatest place first, without zeros in front.

use std::cmp::Ordering;

pub(super) fn without_leading_zeros(mut digits: Vec<u8>) -> Vec<u8> {
    let zeros = digits.iter().take_while(|&&digit| digit == 0).count();
    digits.drain(..zeros);
    digits
}

pub(super) fn compare(one: &[u8], two: &[u8]) -> Ordering {
    one.len().cmp(&two.len()).then_with(|| one.cmp(two))
}

pub(super) fn add(one: &[u8], two: &[u8]) -> Vec<u8> {
    let mut sum = Vec::with_capacity(one.len().max(two.len()) + 1);
    let (mut one, mut two) = (one.iter().rev(), two.iter().rev());
    let mut carry = 0;
    loop {
        let (left, right) = (one.next(), two.next());
        if left.is_none() && right.is_none() && carry == 0 {
            break;
        }
        let digit = left.unwrap_or(&0) + right.unwrap_or(&0) + carry;
        sum.push(digit % 10);
        carry = digit / 10;
    }
    sum.reverse();
    sum
}

/// `one` is not less than `two`.
pub(super) fn subtract(one: &[u8], two: &[u8]) -> Vec<u8> {
    let mut difference = one.to_vec();
    let mut borrow = 0;
    let mut two = two.iter().rev();
    for digit in difference.iter_mut().rev() {
        let taken = two.next().unwrap_or(&0) + borrow;
        borrow = u8::from(*digit < taken);
        *digit = *digit + borrow * 10 - taken;
    }
    without_leading_zeros(difference)
}

pub(super) fn multiply(one: &[u8], two: &[u8]) -> Vec<u8> {
    let mut places = vec![0_u32; one.len() + two.len()];
    for (at, &left) in one.iter().enumerate() {
        for (beside, &right) in two.iter().enumerate() {
            places[at + beside + 1] += u32::from(left) * u32::from(right);
        }
    }
    let mut carry = 0;
    let mut product = vec![0; places.len()];
    for (digit, place) in product.iter_mut().zip(&places).rev() {
        let value = place + carry;
        *digit = (value % 10) as u8;
        carry = value / 10;
    }
    without_leading_zeros(product)
}

/// Quotient and rest; `two` is not zero.
pub(super) fn divide(one: &[u8], two: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let mut rest: Vec<u8> = Vec::with_capacity(two.len() + 1);
    let mut quotient = Vec::with_capacity(one.len());
    for &digit in one {
        if !rest.is_empty() || digit != 0 {
            rest.push(digit);
        }
        let mut times = 0;
        while compare(&rest, two) != Ordering::Less {
            rest = subtract(&rest, two);
            times += 1;
        }
        quotient.push(times);
    }
    (without_leading_zeros(quotient), rest)
}
